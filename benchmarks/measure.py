"""Ratios on a noisy machine: A B A B in one process, medians of pairs; memory as the rise of a process's peak.

Every measurement has a forked child to itself: what one leaves behind, the next does not find.
"""

import ctypes
import gc
import os
import pickle
import statistics
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

Work = Callable[[], object]  # what is measured
Build = Callable[[], Work]  # makes it, inputs and all, in the process that measures


def time_ratio(theirs: Build, ours: Build) -> float:
    """How many times longer `theirs` takes, in processor time."""
    return in_child(partial(interleaved, theirs, ours, processor_seconds))


def memory_ratio(theirs: Build, ours: Build) -> float:
    """How many times more memory `theirs` adds to its process at its peak."""
    return in_child(partial(_peak, theirs)) / in_child(partial(_peak, ours))


def interleaved(
    theirs: Build, ours: Build, seconds: Callable[[Work], float], pairs: int = 9, patience: float = 8.0
) -> float:
    """The median ratio over pairs; once they have taken `patience` seconds there are no more, but three at least."""
    calls = theirs(), ours()
    for call in calls:
        call()
    ratios, start = [], time.monotonic()
    while len(ratios) < pairs and (len(ratios) < 3 or time.monotonic() - start < patience):
        ratios.append(seconds(calls[0]) / seconds(calls[1]))
    return statistics.median(ratios)


def processor_seconds(call: Work) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def warmed(build: Build) -> Work:
    """The call, after one like it: libraries are loaded, code is compiled, and nothing of the first is left."""
    build()()
    gc.collect()
    return build()


def in_child(work: Callable):
    """What `work` returns, done in a process of its own."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(writing, pickle.dumps(_answer(work)))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        written = pipe.read()
    os.waitpid(child, 0)
    answer = pickle.loads(written) if written else MemoryError("the process that measured came to a sudden end")
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(work: Callable):
    try:
        return work()
    except Exception as error:
        error.add_note(traceback.format_exc())
        return error


def _peak(build: Build) -> float:
    """Megabytes that the call adds to its process at most."""
    call = warmed(build)
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, or the call would use it without asking for more
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
