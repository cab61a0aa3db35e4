"""Which module attends, with which weights: what those who look at attention, or change it, have in common."""

import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial, wraps
from threading import Lock, local
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode

from attnbook._inputs import check_module, check_sizes
from attnbook.errors import meant, teaches_names


class AttentionLayer(nn.Module):
    """What every attention layer inherits: dropout on the weights, and who looks at them, or changes them."""

    _watchers: tuple["Watcher", ...] = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        for name in {"__init__", "forward"} & vars(cls).keys():
            setattr(cls, name, teaches_names(vars(cls)[name]))

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, the share of weights to drop; got {dropout}.")
        self.dropout = dropout

    @property
    def dropout_now(self) -> float:
        """The share of weights to drop: none outside training."""
        return self.dropout if self.training else 0.0

    @property
    def _asked(self) -> list[tuple["Watcher", str]]:
        """Whoever wants to see the weights, and the name that this layer has there."""
        named = [(watcher, watcher.names[self]) for watcher in self._watchers]
        return [(watcher, name) for watcher, name in named if watcher.wants(name)]

    def _applied(self, weights: Tensor, values: Tensor, **before: Callable[[], Tensor]) -> Tensor:
        """Returns weights @ values, with dropout in training, once watchers have seen or changed what each head gives.

        `before` says what the weights came from, as `Attended` takes it.
        """
        output = F.dropout(weights, self.dropout_now) @ values
        if not self._watchers:
            return output
        heads = getattr(self, "heads", weights.shape[-3] if weights.ndim > 3 else None)
        return Attended(output, values, lambda: weights, self.dropout_now, heads, **before).shown_to(self._asked)

    def extra_repr(self) -> str:
        return f"dropout={self.dropout}"

    def __getstate__(self) -> dict:
        """A copy, made while somebody is looking, is not looked at."""
        return {name: value for name, value in self.__dict__.items() if name != "_watchers"}


PARTS = ("queries", "keys", "values", "scores", "weights", "outputs")


class Attended:
    """One attention as it happened: what each head brought, which may be changed, and by what weights.

    The weights are worked out when somebody asks for them, and so are queries, keys and scores, from which they came.
    `heads` is how many there are on the third axis from the last, or None where there is no such axis, as in (L, M) and
    (B, L, M).
    """

    def __init__(
        self,
        output: Any,
        values: Tensor,
        weights: Callable[[], Tensor],
        dropout: float,
        heads: int | None,
        **before: Callable[[], Tensor],
    ):
        self.output, self.values, self.dropout, self.heads = output, values, dropout, heads
        self.before, self.used, self.known = cache(weights), {}, before

    def shown_to(self, asked: list[tuple["Watcher", str]]) -> Any:
        """The output, after all that want to have seen it, or changed it."""
        for watcher, name in asked:
            watcher.see(name, self)
        return self.output

    def part(self, what: str) -> Tensor:
        """One of PARTS, of all heads."""
        if what == "weights":
            return self.weights()
        if what == "outputs":
            return self.output
        if what == "values":
            return self.values
        if what not in self.known:
            raise ValueError(f"flex_attention keeps its {what} to itself; it shows all else: {', '.join(PARTS)}.")
        return self.known[what]()

    def weights(self) -> Tensor:
        """Those that were used, of all heads."""
        weights = self.before()
        for head, used in self.used.items():
            weights = weights.clone() if weights is self.before() else weights
            _part(weights, self.heads, head).copy_(used())
        return weights

    def use(self, head: int, change: Callable[[Tensor], Tensor]) -> None:
        """A head's weights are others; what it brought is as it was."""
        all_heads, heads = self.before, self.heads  # not `self`: it would wait for the garbage collector
        before = self.used.get(head, lambda: _part(all_heads(), heads, head))
        self.used[head] = cache(lambda: change(before()))

    def mix(self, head: int) -> Tensor:
        """What the weights that a head now uses bring of its values."""
        weights, values = self.used[head](), self.values
        if self.heads is not None:  # some share theirs
            values = values.select(-3, head * values.shape[-3] // self.heads)
        wide = torch.promote_types(weights.dtype, values.dtype)
        with torch.autocast(weights.device.type, enabled=False):
            return self._dropped(weights).to(wide) @ values.to(wide)

    def brought(self, head: int) -> Tensor:
        """Returns the output of one head before heads are joined, (..., L, V)."""
        return _part(self.output, self.heads, head)

    def bring(self, head: int, output: Tensor) -> None:
        """This is what the head brought, from now on. No other number changes, and no stride."""
        self.output = self.output.clone()
        self.brought(head).copy_(output)

    def _dropped(self, weights: Tensor) -> Tensor:
        """In training, without some; what is random elsewhere stays as it was."""
        if not self.dropout:
            return weights
        with torch.random.fork_rng([weights.device] if weights.is_cuda else []):
            return F.dropout(weights, self.dropout)


def _part(x: Tensor, heads: int | None, head: int) -> Tensor:
    """One head's, of weights or of an output."""
    return x if heads is None else x.select(-3, head)


class Watcher:
    """Somebody who looks at the attention in a model: all of it, or some layers, by name or by number.

    Layers are counted from 0 in the order in which they first attend.
    """

    changes = False
    looks_inside = False  # at more than weights

    def __init__(self, model: nn.Module, layers: Iterable[str | int] | str | int | None = None):
        check_module("model", model)
        self.names = {module: _plain(name) for name, module in model.named_modules()}
        layers = [layers] if isinstance(layers, str | int) else layers
        self.layers = None if layers is None else list(dict.fromkeys(layers))
        self.numbers: dict[str, int] = {}
        for layer in self.layers or ():
            self._check(layer)

    def wants(self, name: str) -> bool:
        """Returns True if the layer of this name is to be watched; it is asked whenever that layer attends."""
        number = self.numbers.setdefault(name, len(self.numbers))
        return self.layers is None or name in self.layers or number in self.layers

    def see(self, name: str, seen: Attended) -> None:
        raise NotImplementedError

    def check_met(self) -> None:
        """Raise unless each layer that was named attended."""
        for layer in self.layers or ():
            if layer not in self.numbers and layer not in self.numbers.values():
                raise ValueError(f"layer {layer!r} did not attend inside, so nothing came of it. {self._met()}")

    def _check(self, layer: object) -> None:
        if not isinstance(layer, str):
            check_sizes(0, layer=layer)
        elif layer.partition("#")[0] not in self.names.values():
            hint = (
                meant(layer, self.names.values()) or "capture_attention(model) shows the names of those that attend. "
            )
            raise ValueError(
                f"layer must be the name of a module in the model, or a number; got {layer!r}. {hint[:-1]}"
            )

    def _met(self) -> str:
        if not self.numbers:
            return (
                "None did. Did you call model(x) inside, not model.forward(x)? Softmax by hand isn't seen: let the "
                "model call F.scaled_dot_product_attention."
            )
        first, *_, last = [*self.numbers, *self.numbers]
        return f"{len(self.numbers)} did, from 0, {first!r}, to {len(self.numbers) - 1}, {last!r}."


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Inside, it sees what it wants to. Those who change something come before those who look."""
    layers = [module for module in watcher.names if isinstance(module, AttentionLayer)]
    try:
        _watch.open(watcher)
        for layer in layers:
            layer._watchers = _in_order(*layer._watchers, watcher)
        yield
    finally:
        for layer in layers:
            layer._watchers = tuple(other for other in layer._watchers if other is not watcher)
            if not layer._watchers:
                del layer._watchers
        _watch.close(watcher)


def _in_order(*watchers: Watcher) -> tuple[Watcher, ...]:
    return tuple(sorted(watchers, key=lambda watcher: not watcher.changes))


class _Work(local):
    """What goes on in a thread: which modules are at work there, and how often each attended, for each watcher."""

    def __init__(self):
        self.modules: list[tuple[nn.Module, Counter]] = []
        self.looking, self.slowly = True, False


_COMPILES = {"torch._dynamo", "torch.nn.attention.flex_attention"}  # while none of it is loaded, nothing is compiled


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
            if self.stance is None and not _COMPILES.isdisjoint(sys.modules):
                self.stance = torch.compiler.set_stance("force_eager")

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.stance is not None and not self.inside:
                self.stance.__exit__(None, None, None)
                self.stance = None


# By its own name, and by that which a model exported by `torch.export` calls.
_KERNELS = (F.scaled_dot_product_attention, torch.ops.aten.scaled_dot_product_attention.default)


class _Watch(TorchFunctionMode):
    """Sees PyTorch's own attention while a module that somebody looks at is at work, and knows which one is.

    As long as anything is open, `nn.Module.__call__` says which module is at work. Nothing is put into modules: a copy
    of one is not looked at, and hooks would keep PyTorch from its fast path.
    """

    def __init__(self):
        super().__init__()
        self.watchers: tuple[Watcher, ...] = ()
        self.lock, self.work, self.eagerly = Lock(), _Work(), _Eagerly()
        self.call = nn.Module.__call__

    def open(self, watcher: Watcher) -> None:
        with self.lock:
            if not self.watchers:
                self.call = nn.Module.__call__
                nn.Module.__call__ = wraps(self.call)(lambda module, *args, **kwargs: self.run(module, args, kwargs))
            self.watchers = _in_order(*self.watchers, watcher)

    def close(self, watcher: Watcher) -> None:
        with self.lock:
            self.watchers = tuple(other for other in self.watchers if other is not watcher)
            if not self.watchers:
                nn.Module.__call__ = self.call

    def run(self, module: nn.Module, args: tuple, kwargs: dict) -> Any:
        """What a call of the module gives."""
        work = self.work
        concerned = [watcher for watcher in self.watchers if _concerns(watcher, module)]
        if not work.looking or not concerned:
            return self.call(module, *args, **kwargs)
        first = not work.modules
        work.modules.append((module, Counter()))
        try:
            with self if first else nullcontext(), self.eagerly if first else nullcontext():
                changed = any(watcher.changes for watcher in concerned)
                if work.slowly or changed or not _may_be_fast(module, args, kwargs):
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
            with torch.no_grad():  # hooks on its output come after the weights, and have run
                again = partial(self.call, module) if module._forward_pre_hooks else module.forward
                again(*args, **kwargs)
        finally:
            self.work.slowly = False
        return output

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _KERNELS:
            return _kernel(self.asked(), *args, **kwargs)
        if func is F.multi_head_attention_forward:
            return _multi_head(self.asked(), args, kwargs)
        if isinstance(func, HigherOrderOperator) and func.name() == "flex_attention":
            return _flex(self.asked(), func, *args, **kwargs)
        return func(*args, **kwargs)

    def asked(self) -> list[tuple[Watcher, str]]:
        """Whoever wants to see this attention, and the name, there, of the innermost module that it knows."""
        asked = []
        for watcher in self.watchers:
            known = [(module, shown) for module, shown in self.work.modules if module in watcher.names]
            if known:
                module, shown = known[-1]
                shown[watcher] += 1
                again = f"#{shown[watcher]}" if shown[watcher] > 1 else ""
                asked.append((watcher, watcher.names[module] + again))
        return [(watcher, name) for watcher, name in asked if watcher.wants(name)]


_watch = _Watch()


def _concerns(watcher: Watcher, module: nn.Module) -> bool:
    """Whether it looks at this module, or at one inside that the fast path of this one would go round."""
    fast = isinstance(module, nn.TransformerEncoder | nn.TransformerEncoderLayer)
    return module in watcher.names or (fast and any(part in watcher.names for part in module.modules()))


def _may_be_fast(module: nn.Module, args: tuple, kwargs: dict) -> bool:
    """Whether PyTorch may have a path for it on which nothing is seen."""
    if module.training:
        return False
    if isinstance(module, nn.TransformerEncoder):
        return len(args) > 2 or kwargs.get("src_key_padding_mask") is not None  # it drops padding on the way
    if isinstance(module, nn.TransformerEncoderLayer):
        return not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    return isinstance(module, nn.MultiheadAttention)


def _kernel(
    asked: list[tuple[Watcher, str]],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Tensor:
    """`F.scaled_dot_product_attention`, seen by all that ask."""
    given = (query, key, value, attn_mask, dropout_p, is_causal)
    output = F.scaled_dot_product_attention(*given, **options)
    heads = query.shape[-3] if query.ndim > 3 else None
    return _attended(output, given, options, heads).shown_to(asked)


def _attended(output: Tensor, given: tuple, options: dict, heads: int | None) -> Attended:
    """What the kernel gave, with what it was given."""
    query, key, value, _, dropout_p, _ = given
    before = {
        "queries": lambda: query,
        "keys": lambda: key,
        "scores": partial(_scores_of_kernel, *given, **options),
    }
    return Attended(output, value, partial(_of_kernel, *given, **options), dropout_p, heads, **before)


def _scores_of_kernel(query: Tensor, key: Tensor, _, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
    """What the kernel takes the softmax of."""
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3) if options.get("enable_gqa") else key
        scale = options.get("scale")
        scores = query.to(wide) @ key.to(wide).mT * (query.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            attn_mask = scores.new_ones(scores.shape[-2:], dtype=torch.bool).tril()
        if attn_mask is None:
            return scores
        return scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask


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


def _flex(
    asked: list[tuple[Watcher, str]],
    function: Callable,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *how: Any,
    **more: Any,
) -> tuple[Tensor, ...]:
    """`flex_attention`, seen by all that ask. Of unit vectors it makes its weights."""
    output, *others = function(query, key, value, *how, **more)

    def weights() -> Tensor:
        wide, M = torch.promote_types(query.dtype, torch.float32), key.shape[-2]
        units = torch.eye(M, dtype=wide, device=value.device).expand(*value.shape[:-1], M).contiguous()
        return function(query.to(wide), key.to(wide), units, *how, **more)[0]

    known = {"queries": lambda: query, "keys": lambda: key}
    return Attended(output, value, weights, 0.0, query.shape[-3], **known).shown_to(asked), *others


def _multi_head(asked: list[tuple[Watcher, str]], args: tuple, kwargs: dict) -> tuple[Tensor, Tensor | None]:
    """Calls `F.multi_head_attention_forward`, and lets watchers see or change its weights."""
    bound = _SIGNATURE.bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    if any(watcher.changes or watcher.looks_inside for watcher, _ in asked):
        return _multi_head_from_inside(asked, given)
    output = F.multi_head_attention_forward(**given)
    return Attended(output, given["value"], partial(_of_heads, **given), 0.0, given["num_heads"]).shown_to(asked)


def _multi_head_from_inside(asked: list[tuple[Watcher, str]], given: dict) -> tuple[Tensor, Tensor | None]:
    """The same for who changes heads or looks inside: its own code, with another kernel in the place of PyTorch's."""
    all_seen: list[Attended] = []
    needed = given["need_weights"]
    attend = _as_for_weights if needed else F.scaled_dot_product_attention

    def kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool) -> Tensor:
        options = (q, k, v, mask, dropout_p, is_causal)
        all_seen.append(_attended(attend(*options), options, {}, q.shape[1]))
        return all_seen[0].shown_to(asked)

    names = {"has_torch_function": lambda _: False, "scaled_dot_product_attention": kernel}
    inside = FunctionType(F.multi_head_attention_forward.__code__, vars(F) | names)
    output, _ = inside(**given | {"need_weights": False, "is_causal": given["is_causal"] and not needed})
    if not needed:
        return output, None
    weights = all_seen[0].weights().to(output.dtype)
    weights = weights.mean(1) if given["average_attn_weights"] else weights
    return output, weights if given["query"].ndim > 2 else weights[0]


_SIGNATURE = inspect.signature(F.multi_head_attention_forward)


def _as_for_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, _: bool) -> Tensor:
    """To the last bit what PyTorch computes where it is asked for weights as well."""
    heads = q.shape[:2]
    q, k, v = (x.flatten(0, 1) for x in (q * math.sqrt(1.0 / q.shape[-1]), k, v))
    scores = torch.bmm(q, k.mT) if mask is None else torch.baddbmm(mask.flatten(0, 1), q, k.mT)
    return torch.bmm(F.dropout(scores.softmax(-1), dropout_p), v).unflatten(0, heads)


def _of_heads(*args, **kwargs) -> Tensor:
    """The weights of each head, by the function that computes the output."""
    asked = {"need_weights": True, "average_attn_weights": False, "training": False}
    _, weights = F.multi_head_attention_forward(*args, **(kwargs | asked))
    return weights  # pyrefly: ignore[bad-return] (asked for, there are some)


def unseen(model: nn.Module) -> list[str]:
    """The names of modules that may attend where nothing is seen: what `torch.jit` made calls no function of Python."""
    found: dict[str, str] = {}  # the outermost, and what they do
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{other}." if other else "") for other in found)
        if isinstance(module, torch.jit.ScriptModule) and not inside:
            found[name] = str(module.inlined_graph) if hasattr(module, "forward") else ""
    return [name for name, graph in found.items() if any(call in graph for call in _IN_GRAPHS)]


# Attention has one of them in it. (A softmax may be no attention.)
_IN_GRAPHS = (
    "aten::scaled_dot_product_attention",
    "aten::softmax",
    "aten::_native_multi_head_attention",
    "aten::_transformer_encoder_layer_fwd",
)


def _plain(name: str) -> str:
    """A module's name without what `torch.compile` puts into it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")
