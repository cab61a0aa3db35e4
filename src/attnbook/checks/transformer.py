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
            raise Wrong("expected", case=case, want=want, got=got, why=why)


def _ids(case: str, got: object) -> list:
    if not isinstance(got, (Tensor, list, tuple)) or (isinstance(got, Tensor) and got.ndim != 1):
        raise Wrong("ids", case=case, got=describe(got))
    ids = [x.item() if isinstance(x, Tensor) and x.numel() == 1 else x for x in got]
    if not all(isinstance(x, int) for x in ids):
        raise Wrong("whole_ids", case=case, got=ids)
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
    "divides_by_d_1": _norm(unbiased=True),
    "divides_by_std_with_eps_beside": _norm(unbiased=True, eps=0.0, outside=1e-5),
    "divides_by_std_without_eps": _norm(unbiased=True, eps=0.0),
    "normalises_all_numbers_of_all_texts": _norm(axes=(0, 1, 2)),
    "subtracts_the_mean_in_the_variance": lambda x, gain, bias: (
        x / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt() * gain + bias
    ),
    "multiplies_by_the_bias_and_adds": lambda x, gain, bias: _norm()(x, bias, gain),
    "normalises_each_feature_over_texts": _norm(axes=(0, 1)),
    "normalises_each_text": _norm(axes=(1, 2)),
    "normalises_each_feature_over_the_tokens": _norm(axes=(1,)),
    "subtracts_no_mean": _norm(centred=False),
    "has_no_eps": _norm(eps=0.0),
    "adds_eps_to_the_deviation": _norm(eps=0.0, outside=1e-5),
    "divides_by_the_variance": _norm(root=False),
    "has_no_gain": _norm(gain=0),
    "has_no_bias": _norm(bias=0),
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
    "leaves_out_the_token_that_stops": _greedy(
        lambda ids, stop, length: (token for token in _until(ids, stop, length) if token != stop)
    ),
    "goes_on_after_the_token": _greedy(lambda ids, stop, length: islice(ids, length)),
    "writes_length_tokens": _greedy(lambda ids, stop, length: _until(ids, stop, length + 1)),
    "leaves_out_the_start": _greedy(lambda ids, stop, length: islice(_until(ids, stop, length), 1, None)),
    "writes_one_token_too_few": _greedy(lambda ids, stop, length: _until(ids, stop, length - 1)),
    "leaves_out_both_the_start": _greedy(
        lambda ids, stop, length: (token for token in islice(_until(ids, stop, length), 1, None) if token != stop)
    ),
    "stops_at_the_token_that_stops": _greedy(lambda ids, stop, length: _until(ids, stop, _ENDLESS)),
    "takes_the_largest_score_of_all": _greedy(choose=lambda scores: scores.argmax()),
    "takes_the_scores_after_the_first": _greedy(choose=lambda scores: scores[0].argmax()),
    "gives_the_model_the_newest_token": _greedy(read=1),
    "takes_the_least_likely_token": _greedy(choose=lambda scores: scores[-1].argmin()),
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
    "2_texts_of_3_tokens": (3 + 2 * _x, _gain, _bias),
    "very_small_numbers": (_x / 200, _gain, _bias),
    "a_token_of_four_times": (torch.full((1, 1, 4), 2.0), _gain, _bias),
}
_MODELS = {
    "a_text_that_stops": (_model(9), 1, 2, 20),
    "a_text_that_does_not_stop": (_model(3), 1, 2, 8),
    "a_longer_text": (_model(11), 1, 2, 20),
}
