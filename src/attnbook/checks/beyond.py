"""Chapters 14 and 15: patches of an image, CLIP's loss, how much of a tone is in a frame, who is near in a graph."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attnbook.checks.judging import Wrong, call, compare, describe, exercise, explained

Patches = Callable[[Tensor, int], Tensor]
Loss = Callable[[Tensor, Tensor, float], Tensor]
Strength = Callable[[Tensor, float, float], Tensor]
Near = Callable[[Tensor, int], Tensor]


@exercise
def image_patches(answer: Patches) -> None:
    """`answer(images_BHW, size)`: each image as its patches (B, P, size²), row by row, and so are their pixels."""
    _judge(answer, _patches, WRONG_PATCHES, _IMAGES, ("image", "patch", "pixel"))


@exercise
def contrastive_loss(answer: Loss) -> None:
    """`answer(pictures_BD, names_BD, sharpness)`: CLIP's loss, one number.

    Vectors have length 1. Each picture must find its own name among all, and each name its own picture.
    """
    _judge_number(answer, _contrastive(), WRONG_CONTRASTIVE, _PAIRS)


@exercise
def strength(answer: Strength) -> None:
    """`answer(frame_N, frequency, rate)`: |Σₙ xₙ e^(-2πi f n / rate)| of one frame, one number."""
    _judge_number(answer, _strength(), WRONG_STRENGTH, _FRAMES)


@exercise
def within_steps(answer: Near) -> None:
    """`answer(edges_LL, steps)` is True where at most so many edges lead from one node to the other."""
    answers = {case: call(answer, *inputs) for case, inputs in _GRAPHS.items()}
    for case, got in answers.items():
        if isinstance(got, Tensor) and got.dtype != torch.bool:
            raise Wrong("boolean", case=case, got=got.dtype)
        want = _within()(*_GRAPHS[case])
        compare(case, got, want, ("node", "node"), partial(explained, answers, WRONG_WITHIN, _GRAPHS, case))


def _judge(answer: Callable, right: Callable, wrong: dict, cases: dict[str, tuple], axes: tuple[str, ...]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, got in answers.items():
        compare(case, got, right(*cases[case]), axes, partial(explained, answers, wrong, cases, case))


def _judge_number(answer: Callable, right: Callable, wrong: dict, cases: dict[str, tuple]) -> None:
    answers = {case: call(answer, *inputs) for case, inputs in cases.items()}
    for case, got in answers.items():
        if isinstance(got, float):
            answers[case] = torch.tensor(got)
        elif not isinstance(got, Tensor) or got.numel() != 1 or not got.is_floating_point():
            raise Wrong("one_number", case=case, got=describe(got))
        else:
            answers[case] = got.reshape(())
    for case, got in answers.items():
        want = right(*cases[case])
        if abs(got.item() - want.item()) > 1e-4 * max(1.0, abs(want.item())):
            why = explained(answers, wrong, cases)
            raise Wrong("expected", case=case, want=round(want.item(), 4), got=round(got.item(), 4), why=why)


def _patches(images: Tensor, size: int) -> Tensor:
    B, H, W = images.shape
    return images.view(B, H // size, size, W // size, size).transpose(2, 3).reshape(B, -1, size * size)


# What goes wrong with patches, each as a function with the signature of the exercise.
WRONG_PATCHES: dict[str, Patches] = {
    "cuts_rows_into_pieces": lambda images, size: images.reshape(len(images), -1, size * size),
    "has_patches_column_by_column": lambda images, size: (
        _patches(images.mT, size).unflatten(-1, (size, size)).mT.flatten(-2)
    ),
    "has_pixels_column_by_column": lambda images, size: (
        _patches(images, size).unflatten(-1, (size, size)).mT.flatten(-2)
    ),
    "exchanges_rows_and_columns": lambda images, size: _patches(images.mT, size),
    "keeps_the_pixels_in_two_axes": lambda images, size: _patches(images, size).unflatten(-1, (size, size)),
    "averages_each_patch": lambda images, size: _patches(images, size).mean(-1, keepdim=True),
}


def _contrastive(
    *, columns: float = 0.5, shift: bool = False, sharp: bool = True, total: bool = False, positive: bool = False
) -> Loss:
    """By how much names count that look for a picture, whose pairs are whose, and how scores become one number."""

    def loss(pictures: Tensor, names: Tensor, sharpness: float) -> Tensor:
        scores = pictures @ names.mT * (sharpness if sharp else 1)
        own = torch.eye(len(scores))
        own = torch.cat([own[1:], own[:1]]) if shift else own
        found = [own * (scores.softmax(-1).log()), own * (scores.mT.softmax(-1).log()).mT]
        if positive:
            return -(own * scores).sum() / len(scores)
        losses = [-part.sum() / (1 if total else len(scores)) for part in found]
        return (1 - columns) * losses[0] + columns * losses[1]

    return loss


# What goes wrong with CLIP's loss, likewise.
WRONG_CONTRASTIVE: dict[str, Loss] = {
    "lets_pictures_look_and_not_names": _contrastive(columns=0.0),
    "lets_names_look_and_not_pictures": _contrastive(columns=1.0),
    "pairs_each_picture_with_a_neighbours_name": _contrastive(shift=True),
    "forgets_the_sharpness": _contrastive(sharp=False),
    "adds_up_the_pairs": _contrastive(total=True),
    "adds_up_both_ways": lambda pictures, names, sharpness: 2 * _contrastive()(pictures, names, sharpness),
    "rewards_pairs_and_punishes_nothing": _contrastive(positive=True),
    "has_the_other_sign_of_a_loss": lambda pictures, names, sharpness: -_contrastive()(pictures, names, sharpness),
}


def _strength(*, parts: str = "both", squared: bool = False, by: float = 1.0, mean: bool = False) -> Strength:
    """Returns a function for the strength of a frequency in a frame, right as it is; each argument makes a mistake."""

    def strong(frame: Tensor, frequency: float, rate: float) -> Tensor:
        turns = by * 2 * torch.pi * frequency * torch.arange(len(frame)) / rate
        real, imaginary = (frame * turns.cos()).sum(), (frame * turns.sin()).sum()
        power = {"both": real**2 + imaginary**2, "cos": real**2, "sin": imaginary**2}[parts]
        power = (real + imaginary) ** 2 if mean else power
        return power if squared else power.sqrt()

    return strong


# What goes wrong with the strength of a tone, likewise.
WRONG_STRENGTH: dict[str, Strength] = {
    "takes_the_cosine_alone": _strength(parts="cos"),
    "takes_the_sine_alone": _strength(parts="sin"),
    "forgets_the_root": _strength(squared=True),
    "forgets_two_pi": _strength(by=1 / (2 * torch.pi)),
    "adds_before_it_squares": _strength(mean=True),
    "divides_by_the_samples": lambda frame, f, rate: _strength()(frame, f, rate) / len(frame),
}


def _within(*, more: int = 0, exactly: bool = False, self_too: bool = True, hidden: bool = False) -> Near:
    """Returns who is near whom in a graph, right as it is; each argument walks the edges in a wrong way."""

    def near(edges: Tensor, steps: int) -> Tensor:
        start = torch.eye(len(edges))
        step = edges.float() if exactly else (edges | start.bool()).float()
        reached = start
        for _ in range(steps + more):
            reached = ((reached @ step) > 0).float()
        reached = reached.bool() if self_too else reached.bool() & ~start.bool()
        return ~reached if hidden else reached

    return near


# What goes wrong with who is near, likewise.
WRONG_WITHIN: dict[str, Near] = {
    "takes_neighbours_alone": lambda edges, steps: _within()(edges, 1),
    "walks_one_step_too_many": _within(more=1),
    "walks_one_step_too_few": _within(more=-1),
    "cannot_stay_where_it_is": _within(exactly=True),
    "leaves_out_the_node_itself": _within(self_too=False),
    "has_true_for_the_far": _within(hidden=True),
}


_DRAW = torch.Generator().manual_seed(14)


def _numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=_DRAW)


def _unit(*shape: int) -> Tensor:
    x = _numbers(*shape)
    return x / x.square().sum(-1, keepdim=True).sqrt()


def _edges(L: int, *pairs: tuple[int, int]) -> Tensor:
    edges = torch.zeros(L, L)
    for a, b in pairs:
        edges[a, b] = edges[b, a] = 1
    return edges.bool()


_IMAGES = {
    "4_by_4": (torch.arange(16.0).view(1, 4, 4), 2),
    "2_images_of_6_by_9": (_numbers(2, 6, 9), 3),
}
_PAIRS = {
    "2_pairs": (_unit(2, 3), _unit(2, 3), 1.0),
    "4_pairs_10_times_as_sharp": (_unit(4, 2), _unit(4, 2), 10.0),
}
_FRAMES = {
    "a_short_frame": (_numbers(8), 1.0, 8.0),
    "a_tone_between_two_bins": (_numbers(20), 697.0, 4000.0),
}
_GRAPHS = {
    "a_chain_of_5": (_edges(5, (0, 1), (1, 2), (2, 3), (3, 4)), 2),
    "2_parts": (_edges(7, (0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6)), 2),
    "a_ring_of_8": (_edges(8, *[(i, (i + 1) % 8) for i in range(8)]), 3),
}
