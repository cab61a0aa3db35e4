"""Attention weights on demand, and nothing kept when nobody asks."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial, wraps
from threading import Lock, local
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook._inputs import check_module


class AttentionLayer(nn.Module):
    """What every attention layer inherits: dropout on the weights, and where to show them while somebody is looking."""

    _watchers: tuple[Callable[[Tensor], None], ...] = ()

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, the share of weights to drop; got {dropout}.")
        self.dropout = dropout

    @property
    def dropout_now(self) -> float:
        """The share of weights to drop: none outside training."""
        return self.dropout if self.training else 0.0

    def _applied(self, weights: Tensor) -> Tensor:
        """The weights as they meet the values: shown to whoever is looking, then, in training, some dropped."""
        for watcher in self._watchers:
            watcher(weights.detach())
        return F.dropout(weights, self.dropout_now)

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"

    def __getstate__(self) -> dict:
        """A copy, made while somebody is looking, is not looked at."""
        return {name: value for name, value in self.__dict__.items() if name != "_watchers"}


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """The weights of every attention in `model`, by the name of the module that computes it; `""` is the model itself.

    >>> from attnbook import DotProductAttention
    >>> layer, x_BLD = DotProductAttention(), torch.zeros(1, 2, 8)
    >>> with capture_attention(layer) as maps:
    ...     _ = layer(x_BLD, x_BLD, x_BLD)
    >>> maps[""]
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])

    It may be anybody's model: seen are the layers of attnbook, nn.MultiheadAttention and all that is made of it, and
    whatever calls F.scaled_dot_product_attention, as most models do.

    >>> block, x_BLD = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval(), torch.randn(1, 3, 8)
    >>> with capture_attention(block) as maps:
    ...     _ = block(x_BLD)
    >>> {name: tuple(weights.shape) for name, weights in maps.items()}
    {'self_attn': (1, 2, 3, 3)}

    What other people's layers compute is the same to the last bit. Layers of attnbook take the readable path, which has
    weights to show. A module that attends more than once in one call has maps `name`, `name#2` and so on; of one called
    twice, the last call is shown. The maps are detached, and taken before dropout.
    """
    check_module("model", model)
    names = {module: _plain(name) for name, module in model.named_modules()}
    maps: dict[str, Tensor] = {}
    layers = {m: partial(maps.__setitem__, name) for m, name in names.items() if isinstance(m, AttentionLayer)}
    capture = _Capture(names, maps)
    try:
        _watch.open(capture)
        for layer, watcher in layers.items():
            layer._watchers = (*layer._watchers, watcher)
        yield maps
    finally:
        for layer, watcher in layers.items():
            layer._watchers = tuple(other for other in layer._watchers if other is not watcher)
            if not layer._watchers:
                del layer._watchers
        _watch.close(capture)
    if not maps and not layers:
        raise ValueError(
            f"{type(model).__name__} holds no attention layer of attnbook, and called none of PyTorch's: there was "
            "nothing to capture. Did you call model(x) inside, not model.forward(x)? If it computes "
            "softmax(QKᵀ) by hand, let it call F.scaled_dot_product_attention; a model of transformers does with "
            "attn_implementation='sdpa'."
        )


class _Capture:
    """Which modules are looked at, by what names, and what was seen."""

    def __init__(self, names: dict[nn.Module, str], maps: dict[str, Tensor]):
        self.names, self.maps = names, maps


class _Work(local):
    """What goes on in a thread: which modules are at work there, and how often each attended, for each capture."""

    def __init__(self):
        self.modules: list[tuple[nn.Module, Counter]] = []
        self.looking, self.slowly = True, False


class _Eagerly:
    """What is compiled runs as it was written: inside compiled code nothing is seen.

    PyTorch has one stance for all threads: the first that needs another takes it, the last gives it back.
    """

    def __init__(self):
        self.lock, self.inside = Lock(), 0
        self.stance: AbstractContextManager | None = None

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.stance is None and "torch._dynamo" in sys.modules:
                self.stance = torch.compiler.set_stance("force_eager")

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.stance is not None and not self.inside:
                self.stance.__exit__(None, None, None)
                self.stance = None


class _Watch(TorchFunctionMode):
    """Sees PyTorch's own attention while a module that somebody looks at is at work, and knows which one is.

    As long as anything is open, `nn.Module.__call__` says which module is at work. Nothing is put into modules: a copy
    of one is not looked at, and hooks would keep PyTorch from its fast path.
    """

    def __init__(self):
        super().__init__()
        self.captures: tuple[_Capture, ...] = ()
        self.lock, self.work, self.eagerly = Lock(), _Work(), _Eagerly()
        self.call = nn.Module.__call__

    def open(self, capture: _Capture) -> None:
        with self.lock:
            if not self.captures:
                self.call = nn.Module.__call__
                nn.Module.__call__ = wraps(self.call)(lambda module, *args, **kwargs: self.run(module, args, kwargs))
            self.captures = (*self.captures, capture)

    def close(self, capture: _Capture) -> None:
        with self.lock:
            self.captures = tuple(other for other in self.captures if other is not capture)
            if not self.captures:
                nn.Module.__call__ = self.call

    def run(self, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        """What a call of the module gives."""
        work = self.work
        if not work.looking or not any(module in capture.names for capture in self.captures):
            return self.call(module, *args, **kwargs)
        first = not work.modules
        work.modules.append((module, Counter()))
        try:
            with self if first else nullcontext(), self.eagerly if first else nullcontext():
                if work.slowly or not _may_be_fast(module, args, kwargs):
                    return self.call(module, *args, **kwargs)
                return self.run_twice(module, args, kwargs)
        finally:
            work.modules.pop()

    def run_twice(self, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        """On its fast path PyTorch has no weights to show, and does not take it while it is watched."""
        self.__exit__(None, None, None)
        self.work.looking = False
        try:
            output = self.call(module, *args, **kwargs)
        finally:
            self.work.looking = True
            self.__enter__()
        self.work.slowly = True
        try:
            with torch.no_grad():
                self.call(module, *args, **kwargs)
        finally:
            self.work.slowly = False
        return output

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        if func in _WEIGHTS:
            with torch.no_grad():
                self.show(_WEIGHTS[func](*args, **kwargs).detach())
        return output

    def show(self, weights: Tensor) -> None:
        """To every capture, under the name of the innermost module that it knows."""
        for capture in self.captures:
            known = [(module, shown) for module, shown in self.work.modules if module in capture.names]
            if known:
                module, shown = known[-1]
                shown[capture] += 1
                again = f"#{shown[capture]}" if shown[capture] > 1 else ""
                capture.maps[capture.names[module] + again] = weights


_watch = _Watch()


def _may_be_fast(module: nn.Module, args: tuple, kwargs: dict) -> bool:
    """Whether PyTorch may have a path for it on which nothing is seen."""
    if module.training:
        return False
    if isinstance(module, nn.TransformerEncoder):
        return len(args) > 2 or kwargs.get("src_key_padding_mask") is not None  # it drops padding on the way
    if isinstance(module, nn.TransformerEncoderLayer):
        return not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    return isinstance(module, nn.MultiheadAttention)


def _of_kernel(query: Tensor, key: Tensor, value: Tensor, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
    """The kernel's own weights, by that one of PyTorch's kernels that holds them.

    It is called by its name. Choosing it with `sdpa_kernel` would choose it for all threads, and two that choose at
    once may leave the choice behind.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask, 0.0, -torch.inf)
    attn_mask = attn_mask if attn_mask is None else attn_mask.to(wide)
    with torch.autocast(query.device.type, enabled=False):
        given = (query.to(wide), key.to(wide), value.to(wide), attn_mask, 0.0, is_causal)
        _, weights = torch.ops.aten._scaled_dot_product_attention_math(*given, **options)
    return weights


def _of_heads(*args, **kwargs) -> Tensor:
    """The weights of each head, by the function that computes the output."""
    asked = {"need_weights": True, "average_attn_weights": False, "training": False}
    _, weights = F.multi_head_attention_forward(*args, **(kwargs | asked))
    return weights  # pyrefly: ignore[bad-return] (asked for, there are some)


_WEIGHTS = {F.scaled_dot_product_attention: _of_kernel, F.multi_head_attention_forward: _of_heads}


def _plain(name: str) -> str:
    """A module's name without what `torch.compile` puts into it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")
