"""Chapter 5: attention, the layer around it, the derivative of softmax, a test of attention."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attnbook.checks.judging import (
    Wrong,
    call,
    close,
    compare,
    describe,
    exercise,
    explained,
    named,
    say,
    shape_of,
    told,
)
from attnbook.language import number
from attnbook.layers.dot_product import attention as book_attention
from attnbook.layers.masks import causal
from attnbook.layers.softmax import masked_softmax

Attention = Callable[..., tuple[Tensor, Tensor]]


@exercise
def attention(answer: Attention) -> None:
    """`answer(q_LK, k_MK, v_MV, mask_LM=None)` returns what `attnbook.attention` returns."""
    answers = {case: call(answer, *inputs) for case, inputs in _ATTENTION_CASES.items()}
    for case, got in answers.items():
        if not isinstance(got, tuple) or len(got) != 2:
            raise Wrong("two_tensors", case=case, got=describe(got))
    for case, got in answers.items():
        output, weights = book_attention(*_ATTENTION_CASES[case])
        if [shape_of(x) for x in got] == [weights.shape, output.shape] != [output.shape, weights.shape]:
            raise Wrong("output_first", case=case)
        in_weights, in_output = (say(name, case=named(case)) for name in ("weights_of", "output_of"))
        compare(in_weights, got[1], weights, ("query", "key"), partial(_mistake, answers, case))
        compare(in_output, got[0], output, ("query", "value"), lambda: say("mix_the_values"))


@exercise
def attention_layer(answer: Callable[[int, int], nn.Module]) -> None:
    """`answer(D, K)` is a layer with `query`, `key`, `value`, (D, K) each, and `output`, (K, D), without biases;
    `layer(x_BLD, context_BMD, mask=None)` returns output (B, L, D) and weights (B, L, M).
    """
    layer = call(answer, _D, _K)
    if not isinstance(layer, nn.Module):
        raise Wrong("a_module", got=describe(layer))
    answers = {case: call(layer, *inputs) for case, inputs in _LAYER_CASES.items()}  # a stub has no layers yet
    _give_parameters(layer)
    answers = {case: call(layer, *inputs) for case, inputs in _LAYER_CASES.items()}
    outputs = {case: got[0] if isinstance(got, tuple) and len(got) == 2 else None for case, got in answers.items()}
    wrong = {name: partial(_output_of, kind) for name, kind in WRONG_ATTENTION_LAYER.items()}
    for case, got in answers.items():
        if outputs[case] is None:
            raise Wrong("two_tensors", case=case, got=describe(got))
        want, weights = _built(_Layer)(*_LAYER_CASES[case])
        in_output, in_weights = (say(name, case=named(case)) for name in ("output_of", "weights_of"))
        compare(
            in_output,
            got[0],
            want,
            ("text", "query", "feature"),
            partial(explained, outputs, wrong, _LAYER_CASES, case),
        )
        compare(in_weights, got[1], weights, ("text", "query", "key"), lambda: "")


@exercise
def softmax_jacobian(answer: Callable[[Tensor], Tensor]) -> None:
    """`answer(weights)` is the matrix of ∂ weight i / ∂ score j, for weights of shape (M,)."""
    for scores in ([0.0, 0.0], [2.0, 1.0, 0.0], [3.0, -1.0, 0.5, 0.0, 1.0]):
        scores = torch.tensor(scores)
        want = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
        got = call(answer, scores.softmax(-1))
        compare(f"M={len(scores)}", got, want, ("weight", "score"), lambda got=got, want=want: _diagonal(got, want))


@exercise
def attention_test(answer: Callable[[Attention], bool]) -> None:
    """`answer(function)` is True for `attnbook.attention` and False for each of `WRONG_ATTENTION`."""
    if not _accepts(answer, book_attention):
        raise Wrong("rejects_the_right")
    fooled = [name for name, wrong in WRONG_ATTENTION.items() if _notices_nothing(answer, wrong)]
    if fooled:
        caught = len(WRONG_ATTENTION) - len(fooled)
        raise Wrong("is_fooled", caught=caught, all=len(WRONG_ATTENTION), mistake=told(fooled[0]))


def _attention_from(weights: Callable[..., Tensor], sense: Callable = lambda mask: mask) -> Attention:
    def wrong(q, k, v, mask=None):
        scores = q @ k.mT
        mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else sense(mask).expand_as(scores)
        p = weights(scores, q.shape[-1], mask)
        return p @ v, p

    return wrong


# What real code has got wrong, each as a function with the signature of `attention`.
WRONG_ATTENTION: dict[str, Attention] = {
    "divides_by_d": _attention_from(lambda s, d, m: masked_softmax(s / d, m)),
    "does_not_scale": _attention_from(lambda s, d, m: masked_softmax(s, m)),
    "divides_by_root_m": _attention_from(lambda s, d, m: masked_softmax(s / s.shape[-1] ** 0.5, m)),
    "takes_the_softmax_over_the_queries": _attention_from(lambda s, d, m: masked_softmax((s / d**0.5).mT, m.mT).mT),
    "has_the_mask_the_wrong_way": _attention_from(lambda s, d, m: masked_softmax(s / d**0.5, m), torch.logical_not),
    "ignores_the_mask": _attention_from(lambda s, d, m: (s / d**0.5).softmax(-1)),
    "masks_after_the_softmax": _attention_from(lambda s, d, m: (s / d**0.5).softmax(-1) * m),
    "fills_masked_scores_with_0": _attention_from(lambda s, d, m: (s * m / d**0.5).softmax(-1)),
    "spreads_its_weights_evenly_where_a_query": _attention_from(
        lambda s, d, m: (s / d**0.5).masked_fill(~m, -1e9).softmax(-1)
    ),
    "gives_nan_where_a_query": _attention_from(lambda s, d, m: (s / d**0.5).masked_fill(~m, -torch.inf).softmax(-1)),
}


def _powers_alone(scores: Tensor, d: int, mask: Tensor) -> Tensor:
    """Softmax as the formula has it: the power of a large score overflows."""
    powers = (scores / d**0.5).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=torch.finfo(powers.dtype).tiny)


def _attention_cases() -> dict[str, tuple]:
    draw = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(*shape, generator=draw) for shape in ((3, 4), (5, 4), (5, 2)))
    empty_row = causal(3, 5) & torch.tensor([[True], [False], [True]])
    return {
        "one_query_two_keys": (torch.tensor([[2.0, 0.0, 1.0]]), torch.eye(2, 3), torch.tensor([[10.0], [20.0]])),
        "L=3, M=5": (q, k, v),
        "with_a_causal_mask": (q, k, v, causal(3, 5)),
        "a_query_with_nothing_to_attend": (q, k, v, empty_row),
        "large_scores": (200 * q, k, v),
    }


_ATTENTION_CASES = _attention_cases()


_D, _K = 7, 4


class _Layer(nn.Module):
    """The layer of the exercise; `attend` and `scale` are what a wrong one has of its own."""

    attend: Callable = staticmethod(book_attention)
    scale = 1.0

    def __init__(self, D: int, K: int):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(D, K, bias=False) for _ in range(3))
        self.output = nn.Linear(K, D, bias=False)

    def forward(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        q, k, v = self.three(x, context)
        output, weights = self.attend(q * self.scale, k, v, mask)
        return self.output(output), weights

    def three(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.query(x), self.key(context), self.value(context)


class _LooksAtItself(_Layer):
    def three(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().three(x, x)


class _AsksFromTheContext(_Layer):
    def three(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().three(context, x)


class _HandsOverItsKeys(_Layer):
    def three(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.query(x), self.key(context), self.key(context)


class _SwapsQueriesAndKeys(_Layer):
    def three(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.key(x), self.query(context), self.value(context)


class _ForgetsTheMask(_Layer):
    attend = staticmethod(WRONG_ATTENTION["ignores_the_mask"])


class _TurnsTheMask(_Layer):
    attend = staticmethod(WRONG_ATTENTION["has_the_mask_the_wrong_way"])


class _HasNaN(_Layer):
    attend = staticmethod(WRONG_ATTENTION["gives_nan_where_a_query"])


class _DoesNotDivide(_Layer):
    scale = _K**0.5


class _DividesByRootD(_Layer):
    scale = (_K / _D) ** 0.5


class _DividesTwice(_Layer):
    scale = _K**-0.5


# What goes wrong with the layer, each as a class with the signature of the exercise.
WRONG_ATTENTION_LAYER: dict[str, type[nn.Module]] = {
    "makes_keys_and_values_of_x": _LooksAtItself,
    "makes_queries_of_the_context": _AsksFromTheContext,
    "hands_over_its_keys": _HandsOverItsKeys,
    "swaps_queries_and_keys": _SwapsQueriesAndKeys,
    "ignores_the_mask": _ForgetsTheMask,
    "has_the_mask_the_wrong_way": _TurnsTheMask,
    "gives_nan_where_a_query": _HasNaN,
    "does_not_divide_the_scores": _DoesNotDivide,
    "divides_by_root_of_the_whole_width": _DividesByRootD,
    "divides_by_k": _DividesTwice,
}


def _layer_cases() -> dict[str, tuple]:
    draw = torch.Generator().manual_seed(55)
    x, other, longer = (torch.randn(2, n, _D, generator=draw).round(decimals=2) for n in (3, 3, 5))
    empty_row = causal(3) & torch.tensor([[True], [False], [True]])
    return {
        "one_text": (x, x),
        "two_texts_equally_long": (x, other),
        "with_a_causal_mask": (x, x, causal(3)),
        "a_query_with_nothing_to_attend": (x, x, empty_row),
        "3_queries_5_keys": (x, longer),
    }


def _parameters() -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(56)
    shapes = {**dict.fromkeys(("query", "key", "value"), (_K, _D)), "output": (_D, _K)}
    return {name: torch.randn(shape, generator=draw).round(decimals=2) for name, shape in shapes.items()}


_LAYER_CASES, _PARAMETERS = _layer_cases(), _parameters()


def _give_parameters(layer: nn.Module) -> None:
    """The same matrices for every answer, in layers of the names asked for."""
    for name, weight in _PARAMETERS.items():
        linear, shape = getattr(layer, name, None), weight.shape
        if not isinstance(linear, nn.Linear) or linear.weight.shape != shape:
            given = getattr(linear, "weight", None)
            got = describe(given if isinstance(given, Tensor) else linear)
            raise Wrong("a_linear_layer", layer=name, ins=shape[1], outs=shape[0], got=got)
        if linear.bias is not None:
            raise Wrong("no_bias", layer=name)
        linear.weight.data.copy_(weight)


def _built(kind: type[nn.Module]) -> nn.Module:
    layer = kind(_D, _K)
    _give_parameters(layer)
    return layer


def _output_of(kind: type[nn.Module], *inputs: Tensor) -> Tensor | None:
    try:
        return _built(kind)(*inputs)[0]
    except (RuntimeError, ValueError):  # sizes that don't fit: such an answer has raised already
        return None


def _accepts(test: Callable[[Attention], bool], function: Attention) -> bool:
    return bool(call(test, function))


def _notices_nothing(test: Callable[[Attention], bool], function: Attention) -> bool:
    try:
        return _accepts(test, function)
    except Wrong:  # a test that raises has noticed
        return False


def _mistake(answers: dict[str, tuple], case: str) -> str:
    """Which known mistake gives just these weights, or else a row that doesn't add up."""
    known = {**WRONG_ATTENTION, "subtracts_no_maximum": _attention_from(_powers_alone)}
    wrong = {name: lambda *inputs, f=f: f(*inputs)[1] for name, f in known.items()}
    weights = {case: got[1] for case, got in answers.items()}
    if why := explained(weights, wrong, _ATTENTION_CASES, case):
        return why
    total = weights[case].sum(-1)
    row = int((total - 1).abs().argmax())
    return say("row_adds_up", row=row, total=number(total[row].item())) if abs(total[row] - 1) > 1e-3 else ""


def _diagonal(got: Tensor, want: Tensor) -> str:
    if close(got.diagonal(), want.diagonal()).all():
        return say("diagonal_right")
    return say("sign_wrong") if close(-got, want).all() else ""
