"""Handwritten digits of 8 × 8, a vision Transformer that reads them, and what it looked at.

Some digits are held out: by chance, or all that were written on some forms.

Thirteen people filled in fourteen forms with the same 130 digits; a few are missing. The file does not say where a form
begins, its labels do: each time the same digits follow each other.

>>> images_BHW, labels_B = digits()
>>> images_BHW.shape, images_BHW.max().item(), labels_B[:10].tolist()
(torch.Size([1437, 8, 8]), 1.0, [1, 5, 7, 8, 9, 0, 1, 2, 3, 4])
"""

import random
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn

from attnbook.data import FOLDER, handwritten_digits, stored
from attnbook.layers.capture import capture_attention
from attnbook.models.transformer import EncoderBlock

FORMS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)  # the first digit of each
PATCH = 2


def digits(*, held_out: bool = False, by: str = "digit") -> tuple[Tensor, Tensor]:
    """Images (B, 8, 8) from 0, paper, to 1, ink, and their labels (B,): those to learn from, or those held out.

    by="digit"  a fifth of all digits is held out, drawn once and for all; each of their writers is learned from, too
    by="form"   the last three forms are, whose writers (but perhaps one, who filled in two) the others do not show

    >>> [len(digits(held_out=held_out, by=by)[1]) for by in ("digit", "form") for held_out in (False, True)]
    [1437, 360, 1415, 382]
    """
    numbers = handwritten_digits()
    match by:
        case "digit":
            chosen = random.Random(0).sample(range(len(numbers)), len(numbers) // 5 + 1)
        case "form":
            chosen = range(FORMS[-3], len(numbers))
        case _:
            raise ValueError(f"by must be 'digit' or 'form', got {by!r}.")
    out = torch.zeros(len(numbers), dtype=torch.bool)
    out[[*chosen]] = True
    kept = numbers[out == held_out]
    return kept[:, :-1].view(-1, 8, 8) / 16, kept[:, -1]


def patches(images_BHW: Tensor, size: int = PATCH) -> Tensor:
    """Each image as its patches (B, P, size²), row by row.

    >>> patches(torch.arange(16.0).view(1, 4, 4))[0].int().tolist()
    [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    """
    return rearrange(images_BHW, "B (R r) (C c) -> B (R C) (r c)", r=size, c=size)


def covered(image_HW: Tensor, cover_HW: Tensor, size: int = PATCH) -> Tensor:
    """A copy of the image for each of its patches (P, H, W), in which that patch is taken from `cover_HW`."""
    rows, columns = (n // size for n in image_HW.shape)
    mask_PP = torch.eye(rows * columns, dtype=torch.bool)
    mask_PHW = repeat(mask_PP, "P (R C) -> P (R r) (C c)", R=rows, r=size, c=size)
    return torch.where(mask_PHW, cover_HW, image_HW)


class VisionTransformer(nn.Module):
    """Scores (B, classes) for images (B, H, W): blocks over their patches and, before these, a token for the class.

    >>> VisionTransformer()(digits()[0][:3]).shape
    torch.Size([3, 10])
    """

    def __init__(self, D: int = 32, heads: int = 4, hidden: int = 64, layers: int = 2, P: int = 16, classes: int = 10):
        super().__init__()
        self.embed = nn.Linear(PATCH * PATCH, D)
        self.class_token = nn.Parameter(torch.zeros(D))
        self.positions = nn.Parameter(0.02 * torch.randn(P + 1, D))
        blocks = [EncoderBlock(D, heads, hidden, dropout=0.0, norm="pre") for _ in range(layers)]
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.scores = nn.LayerNorm(D), nn.Linear(D, classes)

    def forward(self, images_BHW: Tensor) -> Tensor:
        patches_BPD = self.embed(patches(images_BHW))
        class_B1D = self.class_token.expand(len(images_BHW), 1, -1)
        x_BLD = torch.cat([class_B1D, patches_BPD], 1) + self.positions
        return self.scores(self.norm(self.blocks(x_BLD)[:, 0]))


def digit_loss(model: nn.Module, given: tuple[Tensor, Tensor]) -> Tensor:
    """Cross-entropy of images and labels."""
    images_BHW, labels_B = given
    return F.cross_entropy(model(images_BHW), labels_B)


def draws(
    data: tuple[Tensor, Tensor], size: int, *, move: float = 0.0
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """To be called in each step of training: some of the images, `moved` by so much, and their labels."""
    images_NHW, labels_N = data

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(labels_N), (size,), generator=generator)
        images_BHW = images_NHW[chosen]
        return moved(images_BHW, generator, move) if move else images_BHW, labels_N[chosen]

    return draw


def by_label(labels_N: Tensor) -> list[Tensor]:
    """The positions of the images of each digit."""
    return [(labels_N == digit).nonzero()[:, 0] for digit in range(10)]


def one_of_each(of_digit: list[Tensor], wanted: Tensor, generator: torch.Generator) -> Tensor:
    """The position of an image of each digit that is wanted, drawn at random, in the same shape."""
    sizes = torch.tensor([len(rows) for rows in of_digit])
    places = (torch.rand(wanted.shape, generator=generator) * sizes[wanted]).long()
    return nn.utils.rnn.pad_sequence(of_digit, batch_first=True)[wanted, places]


def moved(images_BHW: Tensor, generator: torch.Generator, size: float) -> Tensor:
    """Each image turned, slanted, stretched and shifted a little, by chance: another way to write the same digit."""
    B, H, W = images_BHW.shape
    turn_B22 = torch.eye(2) + size * torch.randn(B, 2, 2, generator=generator)
    shift_B21 = 0.8 * size * torch.randn(B, 2, 1, generator=generator)
    grid_BHW2 = F.affine_grid(torch.cat([turn_B22, shift_B21], -1), [B, 1, H, W], align_corners=False)
    return F.grid_sample(images_BHW[:, None], grid_BHW2, align_corners=False)[:, 0]


@torch.no_grad()
def right(model: nn.Module, data: tuple[Tensor, Tensor]) -> float:
    """The share of images whose highest score is that of their label."""
    images_BHW, labels_B = data
    return (model(images_BHW).argmax(-1) == labels_B).double().mean().item()


@torch.no_grad()
def looks(model: VisionTransformer, images_BHW: Tensor) -> Tensor:
    """The weights (B, layers, heads, P) with which the class token looks at the patches."""
    with capture_attention(model) as maps:
        model(images_BHW)
    return torch.stack([*maps.values()], 1)[..., 0, 1:]


@torch.no_grad()
def rollout(model: VisionTransformer, images_BHW: Tensor) -> Tensor:
    """How much of each patch (B, P) is in the class token: the blocks' mean weights and shortcuts, multiplied."""
    with capture_attention(model) as maps:
        model(images_BHW)
    reach_BLL = torch.eye(17)
    for weights_BHLL in maps.values():
        reach_BLL = (weights_BHLL.mean(1) + torch.eye(17)) / 2 @ reach_BLL
    return reach_BLL[:, 0, 1:]


@torch.no_grad()
def drops(model: nn.Module, images_BHW: Tensor, classes_B: Tensor, cover_HW: Tensor) -> Tensor:
    """By how much the score of a class falls when each patch is covered (B, P)."""
    hidden_BPHW = torch.stack([covered(image_HW, cover_HW) for image_HW in images_BHW])
    scores_BPN = model(hidden_BPHW.flatten(0, 1)).unflatten(0, hidden_BPHW.shape[:2])
    before_BN = model(images_BHW)
    at_B1 = classes_B[:, None]
    return before_BN.gather(1, at_B1) - scores_BPN.gather(2, at_B1[:, None].expand(-1, scores_BPN.shape[1], -1))[..., 0]


def reader_untrained() -> VisionTransformer:
    """The `digit_reader` before it has seen a digit."""
    return VisionTransformer(D=48, hidden=96)


@cache
def digit_reader() -> VisionTransformer:
    """The `VisionTransformer` that DrawDigit runs in the page: 39,610 parameters, a byte each.

    It has learned from the first eleven forms and from digits that a program drew as a hand would.

    >>> right(digit_reader(), digits(held_out=True, by="form")) > 0.97
    True
    """
    model = reader_untrained()
    stored.unpack_single(FOLDER / "digit_reader.bin", model)
    return model
