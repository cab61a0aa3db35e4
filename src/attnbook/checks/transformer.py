"""Chapter 9: LayerNorm, the two kinds of block, the loss, and writing one token after the other."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.judging import Wrong, call, close, compare, describe, exercise, explained, shape_of
from attnbook.language import number
from attnbook.learning.text import PAD, START, STOP

Model = Callable[[Tensor], Tensor]
Layer = Callable[[Tensor], Tensor]
Block = Callable[[Tensor, Layer, Layer, Layer, Layer], Tensor]
Translator = Callable[[Tensor, Tensor], Tensor]
Loss = Callable[[Translator, Tensor, Tensor], Tensor]


@exercise
def layer_norm(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """`answer(x_BLD, gain_D, bias_D)`: each token by itself to mean 0, variance 1 (ε = 1e-5), times gain, plus bias."""
    answers = {case: call(answer, *inputs) for case, inputs in _TOKENS.items()}
    for case, got in answers.items():
        x, gain, bias = _TOKENS[case]
        want = F.layer_norm(x, x.shape[-1:], gain, bias)
        compare(
            case, got, want, ("text", "token", "feature"), partial(explained, answers, WRONG_LAYER_NORM, _TOKENS, case)
        )


@exercise
def encoder_block(answer: Block) -> None:
    """`answer(x_BLD, attention, norm_1, feed_forward, norm_2)`: each layer's result is added to what it was given, and
    the sum is normalised, as in the paper.
    """
    _judge_block(answer, _post, WRONG_ENCODER_BLOCK)


@exercise
def pre_norm_block(answer: Block) -> None:
    """The same arguments: each layer is given what its norm makes of x, and its result is added to x itself."""
    _judge_block(answer, _pre, WRONG_PRE_NORM_BLOCK)


def _judge_block(answer: Block, right: Block, wrong: dict[str, Block]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in _BLOCKS.items()}
    for case, got in answers.items():
        want = right(*_BLOCKS[case])
        compare(case, got, want, ("text", "token", "feature"), partial(explained, answers, wrong, _BLOCKS, case))


@exercise
def translation_loss(answer: Callable[[Translator, Tensor, Tensor], Tensor]) -> None:
    """`answer(model, source_BM, target_BL)`: -log of the probability of each token of the targets after START, averaged
    over those that are no padding. `model(source_BM, target_BL)` gives logits (B, L, N) for the token after each.
    """
    answers = {case: call(answer, *inputs) for case, inputs in _TRANSLATIONS.items()}
    for case, got in answers.items():
        want = _loss()(*_TRANSLATIONS[case])
        if shape_of(got) != ():
            raise Wrong("one_loss", case=case, got=describe(got))
        if not close(got, want):
            why = explained(answers, WRONG_TRANSLATION_LOSS, _TRANSLATIONS)
            raise Wrong("expected", case=case, want=number(want.item(), 4), got=number(got.item(), 4), why=why)


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


def _post(x: Tensor, attention: Layer, norm_1: Layer, feed_forward: Layer, norm_2: Layer) -> Tensor:
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


def _pre(x: Tensor, attention: Layer, norm_1: Layer, feed_forward: Layer, norm_2: Layer) -> Tensor:
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


# What goes wrong with a post-norm block, each as a function with the signature of the exercise.
WRONG_ENCODER_BLOCK: dict[str, Block] = {
    "leaves_out_the_first_residual": lambda x, a, n, f, m: m(n(a(x)) + f(n(a(x)))),
    "leaves_out_the_second_residual": lambda x, a, n, f, m: m(f(n(x + a(x)))),
    "leaves_out_both_residuals": lambda x, a, n, f, m: m(f(n(a(x)))),
    "leaves_out_the_first_norm": lambda x, a, n, f, m: m(x + a(x) + f(x + a(x))),
    "leaves_out_the_second_norm": lambda x, a, n, f, m: n(x + a(x)) + f(n(x + a(x))),
    "is_pre_norm": _pre,
    "normalises_before_it_adds": lambda x, a, n, f, m: x + n(a(x)) + m(f(x + n(a(x)))),
    "adds_the_input_of_the_block_again": lambda x, a, n, f, m: m(x + f(n(x + a(x)))),
    "feeds_forward_the_input_of_the_block": lambda x, a, n, f, m: m(n(x + a(x)) + f(x)),
    "feeds_forward_what_is_not_normed": lambda x, a, n, f, m: m(n(x + a(x)) + f(x + a(x))),
    "keeps_what_is_not_normed": lambda x, a, n, f, m: m(x + a(x) + f(n(x + a(x)))),
    "uses_the_first_norm_twice": lambda x, a, n, f, m: _post(x, a, n, f, n),
    "uses_the_second_norm_twice": lambda x, a, n, f, m: _post(x, a, m, f, m),
    "swaps_the_norms": lambda x, a, n, f, m: _post(x, a, m, f, n),
    "begins_with_feed_forward": lambda x, a, n, f, m: _post(x, f, n, a, m),
}

# And with a pre-norm block.
WRONG_PRE_NORM_BLOCK: dict[str, Block] = {
    "leaves_out_the_first_residual": lambda x, a, n, f, m: a(n(x)) + f(m(a(n(x)))),
    "leaves_out_the_second_residual": lambda x, a, n, f, m: f(m(x + a(n(x)))),
    "leaves_out_both_residuals": lambda x, a, n, f, m: f(m(a(n(x)))),
    "leaves_out_the_first_norm": lambda x, a, n, f, m: x + a(x) + f(m(x + a(x))),
    "leaves_out_the_second_norm": lambda x, a, n, f, m: x + a(n(x)) + f(x + a(n(x))),
    "is_post_norm": _post,
    "normalises_before_it_adds": lambda x, a, n, f, m: x + n(a(x)) + m(f(x + n(a(x)))),
    "adds_to_what_is_normed": lambda x, a, n, f, m: m(n(x) + a(n(x))) + f(m(n(x) + a(n(x)))),
    "adds_the_input_of_the_block_again": lambda x, a, n, f, m: x + f(m(x + a(n(x)))),
    "uses_the_first_norm_twice": lambda x, a, n, f, m: _pre(x, a, n, f, n),
    "uses_the_second_norm_twice": lambda x, a, n, f, m: _pre(x, a, m, f, m),
    "swaps_the_norms": lambda x, a, n, f, m: _pre(x, a, m, f, n),
    "begins_with_feed_forward": lambda x, a, n, f, m: _pre(x, f, n, a, m),
    "normalises_the_sum_at_the_end": lambda x, a, n, f, m: m(_pre(x, a, n, f, m)),
}


def _loss(
    given: slice = slice(None, -1), answers: slice = slice(1, None), ignored: int = PAD, reduction: str = "mean"
) -> Loss:
    """By what the model is given and asked for, which answers don't count, and how the others become one number."""

    def loss(model: Translator, source: Tensor, target: Tensor) -> Tensor:
        logits, following = model(source, target[:, given]), target[:, answers]
        return F.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=ignored, reduction=reduction)

    return loss


def _of_each_text(model: Translator, source: Tensor, target: Tensor) -> Tensor:
    return torch.stack([_loss()(model, source[[row]], target[[row]]) for row in range(len(target))]).mean()


def _over_all_places(model: Translator, source: Tensor, target: Tensor) -> Tensor:
    return _loss(reduction="sum")(model, source, target) / target[:, 1:].numel()


def _chances(model: Translator, source: Tensor, target: Tensor) -> Tensor:
    chances = model(source, target[:, :-1]).softmax(-1)
    following = target[:, 1:]
    return 1 - chances.gather(-1, following[..., None])[..., 0][following != PAD].mean()


# What goes wrong with the loss, likewise.
WRONG_TRANSLATION_LOSS: dict[str, Loss] = {
    "compares_each_token_with_itself": _loss(given=slice(None), answers=slice(None)),
    "gives_the_model_the_answers": _loss(given=slice(1, None)),
    "shifts_the_wrong_way": _loss(given=slice(1, None), answers=slice(None, -1)),
    "does_not_shift_what_it_asks_for": _loss(answers=slice(None, -1)),
    "counts_the_padding": _loss(ignored=-100),
    "divides_by_the_padding_too": _over_all_places,
    "adds_up": _loss(reduction="sum"),
    "takes_the_mean_of_each_text_first": _of_each_text,
    "takes_the_softmax_twice": lambda model, *texts: _loss()(lambda *given: model(*given).softmax(-1), *texts),
    "takes_chances_without_the_logarithm": _chances,
    "does_not_ask_for_the_stop": lambda model, source, target: _loss()(
        model, source, target.where(target != STOP, PAD)
    ),
    "gives_the_model_the_target_as_source": lambda model, source, target: _loss()(model, target, target),
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


def _model(table: Tensor) -> Model:
    """What comes next depends on all that came before."""
    weigh = torch.arange(1, _ENDLESS + 1)

    def scores(ids: Tensor) -> Tensor:
        if ids.ndim != 1 or not 0 < len(ids) <= _ENDLESS:
            wanted = f"a tensor of one axis, with at most {_ENDLESS} ids"
            raise ValueError(f"model takes all that was written so far, {wanted}; got shape {tuple(ids.shape)}")
        return table[(ids * weigh[: len(ids)]).cumsum(0) % 64]

    return scores


def _translator(read: Tensor, written: Tensor) -> Translator:
    """Logits that hang on the whole source and on the target so far."""

    def logits(source: Tensor, target: Tensor) -> Tensor:
        if source.ndim != 2 or target.ndim != 2 or len(source) != len(target):
            raise ValueError(
                f"model takes ids (B, M) and (B, L); got shapes {tuple(source.shape)} and {tuple(target.shape)}"
            )
        return read[source].mean(1, keepdim=True) + written[target].cumsum(1)

    return logits


_DRAW = torch.Generator().manual_seed(9)
_x, _gain, _bias = (torch.randn(*shape, generator=_DRAW) for shape in ((2, 3, 4), (4,), (4,)))
_TOKENS = {
    "2_texts_of_3_tokens": (3 + 2 * _x, _gain, _bias),
    "very_small_numbers": (_x / 200, _gain, _bias),
    "a_token_of_four_times": (torch.full((1, 1, 4), 2.0), _gain, _bias),
}
_mix, _in, _out = (torch.randn(*shape, generator=_DRAW) / 2 for shape in ((3, 3), (4, 8), (8, 4)))
_gains, _biases = torch.rand(2, 4, generator=_DRAW) + 0.5, torch.randn(2, 4, generator=_DRAW)
_PARTS = (
    lambda x: _mix @ x,
    lambda x: F.layer_norm(x, (4,), _gains[0], _biases[0]),
    lambda x: (x @ _in).relu() @ _out,
    lambda x: F.layer_norm(x, (4,), _gains[1], _biases[1]),
)
_BLOCKS = {"2_texts_of_3_tokens": (_x, *_PARTS), "very_small_numbers": (_x / 200, *_PARTS)}
_LOGITS = torch.randn(2, 9, 9, generator=torch.Generator().manual_seed(4)).round(decimals=2)
_TEXTS = torch.tensor([[START, 5, 3, STOP, PAD, PAD], [START, 4, 7, 8, 6, STOP]])
_TRANSLATIONS = {
    "two_texts_one_padded": (_translator(*_LOGITS), torch.tensor([[5, 3, 2], [4, 6, 2]]), _TEXTS),
    "one_text": (_translator(*_LOGITS), torch.tensor([[8, 2, 0]]), _TEXTS[1:]),
}
_TABLES = [torch.randn(64, 7, generator=torch.Generator().manual_seed(seed)).round(decimals=2) for seed in (9, 3, 11)]
_MODELS = {
    "a_text_that_stops": (_model(_TABLES[0]), 1, 2, 20),
    "a_text_that_does_not_stop": (_model(_TABLES[1]), 1, 2, 8),
    "a_longer_text": (_model(_TABLES[2]), 1, 2, 20),
}
