"""Make listener.bin, the weights of a `Listener` that has learned to write telephone numbers, for the DialPad.

    python -m booktools.make.networks.listener

It learns from numbers that are drawn anew in each step, short ones at first. `stored` says what the file is like.
"""

from attnbook.data import FOLDER
from attnbook.data.stored import to_single_bytes
from attnbook.tasks.tones import FREQUENCIES
from booktools.make.seeds.tones import trained

if __name__ == "__main__":
    keys = "".join(sorted(FREQUENCIES))
    (FOLDER / "listener.bin").write_bytes(to_single_bytes(trained(0), keys=keys, heads=4, longest=12))
