"""Chapter 9: LayerNorm, and writing one token after the other."""

from collections.abc import Callable, Iterator
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained

Model = Callable[[Tensor], Tensor]


@exercise
def layer_norm(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(x_BLD, gain_D, bias_D)`: each token by itself to mean 0, variance 1 (ε = 1e-5), times gain, plus bias."""
    answers = {case: call(answer, *inputs) for case, inputs in _TOKENS.items()}
    for case, got in answers.items():
        x, gain, bias = _TOKENS[case]
        want = F.layer_norm(x, x.shape[-1:], gain, bias)
        compare(case, got, want, ("text", "token", "feature"), lambda: explained(answers, WRONG_LAYER_NORM, _TOKENS))


@exercise
def greedy(answer: Callable[[Model, int, int, int], Tensor]) -> None:
    """`answer(model, start, stop, length)`: ids from `start` on, each the likeliest after those before it.

    `model(ids_L)` gives the scores (L, N) for the token after each. The last id is `stop`, or there are `length`.
    """
    answers = {case: _ids(case, call(answer, *inputs)) for case, inputs in _MODELS.items()}
    for case, got in answers.items():
        want = _greedy()(*_MODELS[case])
        if got != want:
            why = explained(answers, WRONG_GREEDY, _MODELS)
            raise Wrong(f"{case}: expected {want}, got {got}{why and f' ({why})'}")


def _ids(case: str, got: object) -> list[int]:
    if not isinstance(got, (Tensor, list, tuple)) or (isinstance(got, Tensor) and got.ndim != 1):
        raise Wrong(f"{case}: return the ids, as a tensor of one axis or a list; got {describe(got)}")
    ids = [x.item() if isinstance(x, Tensor) and x.numel() == 1 else x for x in got]
    if not all(isinstance(x, int) for x in ids):
        raise Wrong(f"{case}: ids are whole numbers, got {ids}")
    return ids


def _norm(axes=(-1,), centred=True, unbiased=False, eps=1e-5, root=True, outside=0.0, gain=1, bias=1) -> Callable:
    def layer(x: Tensor, gain_D: Tensor, bias_D: Tensor) -> Tensor:
        mean = x.mean(axes, keepdim=True) if centred else torch.zeros(())
        n = torch.tensor([x.shape[axis] for axis in axes]).prod()
        variance = ((x - mean) ** 2).sum(axes, keepdim=True) / (n - int(unbiased)) + eps
        x = (x - mean) / ((variance**0.5 if root else variance) + outside)
        return x * gain_D**gain + bias_D * bias

    return layer


# What goes wrong with LayerNorm, each as a function with the signature of the exercise.
WRONG_LAYER_NORM: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "divides by D - 1 for the variance, as .std() and .var() do unless told otherwise": _norm(unbiased=True),
    "divides by .std(), which has D - 1 in it unless told otherwise, and has ε beside it": _norm(
        unbiased=True, eps=0.0, outside=1e-5
    ),
    "divides by .std(), which has D - 1 in it unless told otherwise, and has no ε": _norm(unbiased=True, eps=0.0),
    "normalises all numbers of all texts at once": _norm(axes=(0, 1, 2)),
    "subtracts the mean in the variance only": lambda x, gain, bias: (
        x / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt() * gain + bias
    ),
    "multiplies by the bias and adds the gain": lambda x, gain, bias: _norm()(x, bias, gain),
    "normalises each feature over texts and tokens, as batch norm does": _norm(axes=(0, 1)),
    "normalises each text, and not each token": _norm(axes=(1, 2)),
    "normalises each feature over the tokens of its text": _norm(axes=(1,)),
    "subtracts no mean, as RMSNorm does": _norm(centred=False),
    "has no ε: a token whose numbers are all the same divides 0 by 0": _norm(eps=0.0),
    "adds ε to the deviation, and not to the variance": _norm(eps=0.0, outside=1e-5),
    "divides by the variance, and not by its root": _norm(root=False),
    "has no gain": _norm(gain=0),
    "has no bias": _norm(bias=0),
}


def _written(model: Model, start: int, choose: Callable = lambda scores: scores[-1].argmax(), read: int = 0):
    """Ids without end, each chosen from the scores; only the last `read` are given to the model, or all."""
    ids = [start]
    while True:
        yield ids[-1]
        ids.append(int(choose(model(torch.tensor(ids[-read:])))))


def _greedy(end: Callable[[Iterator[int], int, int], Iterator[int]] | None = None, **options) -> Callable:
    return lambda model, start, stop, length: list((end or _until)(_written(model, start, **options), stop, length))


def _until(ids: Iterator[int], stop: int, length: int) -> Iterator[int]:
    for token in islice(ids, length):
        yield token
        if token == stop:
            return


# What goes wrong with writing greedily, likewise.
WRONG_GREEDY: dict[str, Callable[[Model, int, int, int], list[int]]] = {
    "leaves out the token that stops": _greedy(
        lambda ids, stop, length: (token for token in _until(ids, stop, length) if token != stop)
    ),
    "goes on after the token that stops": _greedy(lambda ids, stop, length: islice(ids, length)),
    "writes `length` tokens and has the start besides": _greedy(
        lambda ids, stop, length: _until(ids, stop, length + 1)
    ),
    "leaves out the start": _greedy(lambda ids, stop, length: islice(_until(ids, stop, length), 1, None)),
    "writes one token too few: `length` counts the start": _greedy(
        lambda ids, stop, length: _until(ids, stop, length - 1)
    ),
    "leaves out both the start and the token that stops": _greedy(
        lambda ids, stop, length: (token for token in islice(_until(ids, stop, length), 1, None) if token != stop)
    ),
    "stops at the token that stops, and not at `length`": _greedy(
        lambda ids, stop, length: _until(ids, stop, _ENDLESS)
    ),
    "takes the largest score of all rows at once: argmax without an axis counts through the table": _greedy(
        choose=lambda scores: scores.argmax()
    ),
    "takes the scores after the first token, and not after the last": _greedy(choose=lambda scores: scores[0].argmax()),
    "gives the model the newest token alone, which has kept nothing of those before": _greedy(read=1),
    "takes the least likely token": _greedy(choose=lambda scores: scores[-1].argmin()),
}


_ENDLESS = 49


def _model(seed: int, N: int = 7) -> Model:
    """What comes next depends on all that came before."""
    table = torch.randn(64, N, generator=torch.Generator().manual_seed(seed))
    weigh = torch.arange(1, _ENDLESS + 1)

    def scores(ids: Tensor) -> Tensor:
        if ids.ndim != 1 or not 0 < len(ids) <= _ENDLESS:
            wanted = f"a tensor of one axis, with at most {_ENDLESS} ids"
            raise ValueError(f"model takes all that was written so far, {wanted}; got shape {tuple(ids.shape)}")
        return table[(ids * weigh[: len(ids)]).cumsum(0) % 64]

    return scores


_DRAW = torch.Generator().manual_seed(9)
_x, _gain, _bias = (torch.randn(*shape, generator=_DRAW) for shape in ((2, 3, 4), (4,), (4,)))
_TOKENS = {
    "2 texts of 3 tokens, D=4": (3 + 2 * _x, _gain, _bias),
    "very small numbers": (_x / 200, _gain, _bias),
    "a token of four times the same": (torch.full((1, 1, 4), 2.0), _gain, _bias),
}
_MODELS = {
    "a text that stops": (_model(9), 1, 2, 20),
    "a text that does not stop in time": (_model(3), 1, 2, 8),
    "a longer text": (_model(11), 1, 2, 20),
}
