"""What is known of a mask, worked out once.

A model asks the same of one mask in each of its layers: which keys does nobody see, which queries see nothing, what
does PyTorch's kernel want in its place. The answers are kept beside the mask and found again by its identity, for as
long as it lives, and as long as nobody writes to it: PyTorch counts the writes to a tensor in `_version`.

Two kinds are kept. Told is what `causal` and its like know of a mask that they make, without a look at it. Found is
what a function marked `once` made of its cells: tensors, most of them, which belong to the stream of a GPU that made
them. While a graph of kernels is recorded nothing is kept, so that a replay works it out anew from what the mask holds.
Where tensors have no identity or no versions (under torch.compile and the transforms of torch.func, in subclasses, and
for masks made in inference mode) nothing is kept, and all is worked out each time.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any
from weakref import ref

import torch
from torch import Tensor

from attnbook.device import runs_eagerly


class _Facts:
    def __init__(self, mask: Tensor):
        key = id(mask)
        # When Python ends, a mask may outlive this module's names.
        self.mask, self.version = ref(mask, lambda _, facts=_FACTS: facts.pop(key, None)), mask._version
        self.told, self.found, self.stream = {}, {}, 0


_FACTS: dict[int, _Facts] = {}  # by the mask's identity; a weak dictionary of PyTorch's takes ten times as long
_MODES = torch._C._TorchDispatchModeKey


def tell(mask: Tensor, **facts: Any) -> None:
    """From now on this is known of the mask; of what a function marked `once` would find, by its name."""
    if runs_eagerly() and (kept := _facts(mask, new=True)) is not None:
        kept.told.update(facts)


def told(mask: Tensor, name: str, otherwise: Any = None) -> Any:
    """What was told of the mask, if nobody has written to it since."""
    kept = _facts(mask) if runs_eagerly() else None
    return otherwise if kept is None else kept.told.get(name, otherwise)


def once(find: Callable) -> Callable:
    """A function of a mask that is run once for each. What it gives must not hold the mask: detach a view."""
    name = find.__name__

    @wraps(find)
    def found(mask: Tensor, *more: Any) -> Any:
        if not runs_eagerly() or (kept := _facts(mask, new=True)) is None:
            return find(mask, *more)
        if name in kept.told:
            return kept.told[name]
        if not _keeps(mask):
            return find(mask, *more)
        stream = torch._C._cuda_getCurrentRawStream(mask.device.index) if mask.is_cuda else 0
        if stream != kept.stream:
            kept.found, kept.stream = {}, stream
        key = (name, *more)
        if key not in kept.found:
            with torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext():
                kept.found[key] = find(mask, *more)  # or nobody could learn with it afterwards
        return kept.found[key]

    return found


def _facts(mask: Tensor, *, new: bool = False) -> _Facts | None:
    """Those that still hold; a place for new ones, where wanted and possible."""
    if type(mask) is not Tensor or mask.is_inference():
        return None
    kept = _FACTS.get(id(mask))
    if kept is not None and kept.version == mask._version and kept.mask() is mask:
        return kept
    if not new:
        return None
    _FACTS[id(mask)] = kept = _Facts(mask)
    return kept


def _keeps(mask: Tensor) -> bool:
    """Whether what is worked out now may be used again: not while somebody records what is done."""
    if torch._C._is_tracing() or (mask.is_cuda and torch.cuda.is_current_stream_capturing()):
        return False
    if not torch._C._len_torch_dispatch_stack():
        return True
    return all(torch._C._get_dispatch_mode(mode) is None for mode in (_MODES.FAKE, _MODES.PROXY, _MODES.FUNCTIONAL))
