"""Which masks are causal, known without reading them.

PyTorch's kernels skip half of the work when they are told that attention is causal. A mask is a tensor, though, and
whether it is the causal one stands in its L² cells: to read them for every layer and every call takes too long. So
`causal` notes each square mask that it makes here, and a layer asks whether its mask is one of those.

A mask is known by its identity, for as long as it lives, and as long as nobody writes to it: PyTorch counts the writes
to a tensor in `_version`. Where tensors have neither (under torch.compile and the transforms of torch.func) or writes
are not counted (in inference mode) no mask is noted, and all are read.
"""

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from attnbook.device import runs_eagerly

_VERSIONS = WeakIdKeyDictionary()  # of the masks that were noted, when they were


def note(mask: Tensor) -> None:
    """From now on this mask is known to be causal."""
    if runs_eagerly() and not mask.is_inference():
        _VERSIONS[mask] = mask._version


def is_causal(mask: Tensor) -> bool:
    """Whether the mask is one that `causal(L)` made and nobody has written to since.

    >>> from attnbook import causal
    >>> is_causal(causal(3)), is_causal(causal(3) & causal(3)), is_causal(causal(2, 4))
    (True, False, False)
    """
    return runs_eagerly() and mask in _VERSIONS and mask._version == _VERSIONS[mask]
