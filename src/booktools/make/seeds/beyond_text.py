"""What chapters 14 and 15 measure with several seeds.

images     the share of digits held out that a vision Transformer, a convolution and a network of one layer get right
           after 600 steps on images that are moved a little, and beside them the nearest image. Each seed is a draw:
           of 360 digits that are held out (`digit`), of three whole forms (`form`), and of 100 and of 400 digits to
           learn from; `reshaped` is the Transformer with pixels in the order of the file for patches
orders     a vision Transformer after 1,000 steps: images as they are (`row_by_row`), the patches of all images
           in one other order, another order for each image, and no positions
looks      over all digits held out by digit: the rank correlation, within an image, of what the class token looks at
           (in each block, the mean of its heads; and multiplied through the blocks) with how much the right score falls
           when the patch is covered by the mean image; the same with where ink is, and where it is unusual; how often
           the most looked-at patch is the one whose cover costs most; and how much the score falls when the three most
           looked-at patches are covered, three with most ink, three at random
questions  an `Asker` after 1,000 steps: the share of right answers, by question, to pictures of digits held out, and
           with the next question in place of the one asked; what share of its looks at patches is on the side asked
           for; how often an answer about one side stays when the digit on the other side is exchanged; and the share
           of right answers of a network that gets pixels and words in one row
pairs      pictures and names that learned by CLIP's loss, 600 steps, but 20 of the 100 numbers never: the share of
           pictures of seen and of new numbers whose nearest name, of all 100, is right; the same without positions in
           the names, where 42 and 24 are one name and a coin decides (`mirrored`: the share that is given the other);
           with a convolution for the pictures; with that and no attention between the words of a name, either; and the
           mean loss of the last 50 steps
counts     how many different digits a set of six shows, after 400 and 1,600 steps, for sets of four, six and nine; and
           how many members a set of one to nine has, after 300 steps: with members that attend and with members that
           see only themselves, averaged or added up
reach      who is within two steps of the marked node of a graph, after 400 steps: the share of nodes and of whole
           graphs of 12 and of 24 nodes, edges as the mask; with one layer; with no mask but edges to be read, after
           1,200 steps, too
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import handwritten_digits
from attnbook.device import seed_everything
from attnbook.layers.capture import capture_attention
from attnbook.learning.training import fit
from attnbook.tasks.digits import (
    FORMS,
    VisionTransformer,
    digit_loss,
    digits,
    draws,
    drops,
    looks,
    patches,
    right,
    rollout,
)
from attnbook.tasks.pictures import (
    QUESTIONS,
    WORDS,
    Asker,
    asked,
    question_loss,
    questions,
    two_digits,
)
from attnbook.tasks.sets import count_loss, graphs, reach_loss, sets
from booktools.book.edition import edition

Network = TypeVar("Network", bound=nn.Module)
STEPS, FEWER, BATCH, RATE, MOVE = 1000, 600, 64, 5e-3, 0.05
COUNTED, SIZED = (400, 1600), 300
TESTED, HELD_OUT = 1000, 360  # sets, graphs, pictures; digits
ROOT = Path(__file__).parents[4]


@cache
def on_the_page() -> SimpleNamespace:
    """The models that both chapters build, as their readers take them along."""
    made: dict = {"__name__": "beyond_text"}
    for name in ("14_pictures_and_words", "15_sound_sets_graphs"):
        exec(edition(ROOT).from_scratch[name], made)
    return SimpleNamespace(**made)


def learned(kind: Callable[[], Network], data: tuple[Tensor, Tensor], seed: int, steps: int = STEPS) -> Network:
    seed_everything(seed)
    model = kind()
    fit(model, digit_loss, draws(data, BATCH, move=MOVE), steps, lr=RATE, seed=seed, device="cpu")
    return model


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 240), nn.ReLU(), nn.Linear(240, 10))


class Reshaped(nn.Module):
    """A vision Transformer that takes the pixels four by four as they follow each other for patches."""

    def __init__(self):
        super().__init__()
        self.model = on_the_page().VisionTransformer()

    def forward(self, images_BHW: Tensor) -> Tensor:
        x_BPp = images_BHW.reshape(-1, 4, 4, 2, 2)
        return self.model(x_BPp.transpose(2, 3).reshape(-1, 8, 8))


def nowhere() -> nn.Module:
    model = VisionTransformer()
    nn.init.zeros_(model.positions).requires_grad_(False)
    return model


def nearest(learn: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor]) -> float:
    """The share of images whose nearest one, pixel by pixel, has their label."""
    found = torch.cdist(test[0].flatten(1), learn[0].flatten(1)).argmin(1)
    return (learn[1][found] == test[1]).double().mean().item()


def _reordered(images_BHW: Tensor, generator: torch.Generator, *, each: bool) -> Tensor:
    """The patches of all images in one other order; or each image's in its own."""
    x_BPp = patches(images_BHW)
    order_BP = torch.rand(len(x_BPp) if each else 1, 16, generator=generator).argsort(-1).expand(len(x_BPp), -1)
    x_BPp = x_BPp.gather(1, order_BP[..., None].expand_as(x_BPp))
    return x_BPp.view(-1, 4, 4, 2, 2).transpose(2, 3).reshape(-1, 8, 8)


def _with_patches_mixed(seed: int, *, each: bool) -> float:
    draw = draws(digits(), BATCH, move=MOVE)

    def mixed(images_BHW: Tensor, generator: torch.Generator) -> Tensor:
        return _reordered(images_BHW, generator if each else torch.Generator().manual_seed(7), each=each)

    def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        images_BHW, labels_B = draw(generator)
        return mixed(images_BHW, generator), labels_B

    seed_everything(seed)
    model = VisionTransformer()
    fit(model, digit_loss, batch, STEPS, lr=RATE, seed=seed, device="cpu")
    images_BHW, labels_B = digits(held_out=True)
    return right(model, (mixed(images_BHW, torch.Generator().manual_seed(8)), labels_B))


def split_at_random(by: str, seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Digits to learn from and `HELD_OUT` of them, or three whole forms of fourteen, to be tested on."""
    numbers, generator = handwritten_digits(), torch.Generator().manual_seed(seed)
    out_N = torch.zeros(len(numbers), dtype=torch.bool)
    if by == "digit":
        out_N[torch.randperm(len(numbers), generator=generator)[:HELD_OUT]] = True
    else:
        ends = [*FORMS[1:], len(numbers)]
        for form in torch.randperm(len(FORMS), generator=generator)[:3].tolist():
            out_N[FORMS[form] : ends[form]] = True
    images_NHW, labels_N = numbers[:, :-1].view(-1, 8, 8) / 16, numbers[:, -1]
    return (images_NHW[~out_N], labels_N[~out_N]), (images_NHW[out_N], labels_N[out_N])


def images(seed: int) -> dict[str, object]:
    page = on_the_page()
    kinds = {"transformer": page.VisionTransformer, "convolution": page.convolution, "network": network}
    digit, form = (split_at_random(by, seed) for by in ("digit", "form"))
    tasks = {"digit": digit, "form": form}
    for few in (100, 400):
        chosen = torch.randperm(len(digit[0][1]), generator=torch.Generator().manual_seed(seed))[:few]
        tasks[f"{few}"] = (digit[0][0][chosen], digit[0][1][chosen]), digit[1]
    row: dict[str, object] = {"seed": seed, "steps": FEWER}
    row |= {f"{name}_parameters": sum(p.numel() for p in kind().parameters()) for name, kind in kinds.items()}
    for task, (learn, test) in tasks.items():
        row[f"tested_{task}"] = len(test[1])
        row[f"nearest_{task}"] = round(nearest(learn, test), 3)
        for name, kind in kinds.items():
            row[f"{name}_{task}"] = round(right(learned(kind, learn, seed, steps=FEWER), test), 3)
    for by, (learn, test) in (("digit", digit), ("form", form)):
        row[f"reshaped_{by}"] = round(right(learned(Reshaped, learn, seed, steps=FEWER), test), 3)
    return row


def orders(seed: int) -> dict[str, object]:
    learn, test = digits(), digits(held_out=True)
    return {
        "seed": seed,
        "steps": STEPS,
        "row_by_row": round(right(learned(VisionTransformer, learn, seed), test), 3),
        "one_order": round(_with_patches_mixed(seed, each=False), 3),
        "own_orders": round(_with_patches_mixed(seed, each=True), 3),
        "no_positions": round(right(learned(nowhere, learn, seed), test), 3),
    }


def ranks(x_BP: Tensor) -> Tensor:
    """Each number's place among those of its row; ties share the mean of their places."""
    less = (x_BP[:, :, None] > x_BP[:, None]).double().sum(-1)
    same = (x_BP[:, :, None] == x_BP[:, None]).double().sum(-1)
    return less + (same - 1) / 2


def _rank_correlation(x_BP: Tensor, y_BP: Tensor) -> Tensor:
    """Spearman's, of each row (B,)."""
    return F.cosine_similarity(*(ranks(z) - ranks(z).mean(-1, keepdim=True) for z in (x_BP, y_BP)), dim=-1)


def looks_and_covers(seed: int) -> dict[str, object]:
    return compared(learned(VisionTransformer, digits(), seed)) | {"seed": seed}


@torch.no_grad()
def compared(model: VisionTransformer, seed: int = 0) -> dict[str, object]:
    images_BHW, labels_B = digits(held_out=True)
    mean_HW = digits()[0].mean(0)
    drops_BP = drops(model, images_BHW, labels_B, mean_HW)
    by_blocks = looks(model, images_BHW).mean(2)
    generator = torch.Generator().manual_seed(seed)
    what = {
        "first": by_blocks[:, 0],
        "second": by_blocks[:, 1],
        "rollout": rollout(model, images_BHW),
        "ink": patches(images_BHW).sum(-1),
        "unusual": (patches(images_BHW) - patches(mean_HW[None])).square().sum(-1),
        "random": torch.rand(drops_BP.shape, generator=generator),
        "drops": drops_BP,
    }
    row: dict[str, object] = {"tested": len(labels_B), "right": round(right(model, (images_BHW, labels_B)), 3)}
    before_B = model(images_BHW).gather(1, labels_B[:, None])[:, 0]
    for name, x_BP in what.items():
        chosen_BP = torch.zeros_like(x_BP).scatter(1, x_BP.topk(3).indices, 1.0)
        mask_BHW = chosen_BP.view(-1, 4, 4).repeat_interleave(2, 1).repeat_interleave(2, 2).bool()
        hidden_BHW = torch.where(mask_BHW, mean_HW, images_BHW)
        falls_B = before_B - model(hidden_BHW).gather(1, labels_B[:, None])[:, 0]
        row[name] = {
            "correlation": round(_rank_correlation(x_BP, drops_BP).mean().item(), 3),
            "positive": round((_rank_correlation(x_BP, drops_BP) > 0).double().mean().item(), 3),
            "same_top": round((x_BP.argmax(1) == drops_BP.argmax(1)).double().mean().item(), 3),
            "three_covered": round(falls_B.mean().item(), 2),
            "still_right": round(right(model, (hidden_BHW, labels_B)), 3),
        }
    return row


def asker_trained(seed: int, kind: Callable[[], Network] = Asker) -> Network:
    seed_everything(seed)
    model = kind()
    fit(model, question_loss, questions(digits(), 60), STEPS, lr=RATE, seed=seed, device="cpu")
    return model


class InOneRow(nn.Module):
    """The same without attention: two hidden layers over all pixels and all words of the question, in one row."""

    def __init__(self, hidden: int = 104):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), 16)
        wide = [nn.Linear(128 + 3 * 16, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
        self.layers = nn.Sequential(*wide, nn.Linear(hidden, 19))

    def forward(self, pictures_BHW: Tensor, questions_BL: Tensor) -> Tensor:
        return self.layers(torch.cat([pictures_BHW.flatten(1), self.words(questions_BL).flatten(1)], 1))


def questions_and_pictures(seed: int) -> dict[str, object]:
    simple = asker_trained(seed, InOneRow)
    return {"seed": seed, **answered(asker_trained(seed)), "in_one_row": _right_answers(simple)}


def _asked_pictures() -> tuple[Tensor, Tensor]:
    return two_digits(digits(held_out=True), TESTED)(torch.Generator().manual_seed(1))


@torch.no_grad()
def _right_answers(model: nn.Module, shift: int = 0) -> dict[str, float]:
    """The share of right answers to each question, when the one so many after it is asked."""
    pictures_BHW, numbers_B2 = _asked_pictures()
    left, right_ = numbers_B2.T
    answers_QB = torch.stack([left, right_, numbers_B2.amax(1), numbers_B2.amin(1), left + right_])
    ids_Q3, row = asked(len(QUESTIONS)).roll(-shift, 0), {}
    for name, ids_3, answers_B in zip(QUESTIONS, ids_Q3, answers_QB, strict=True):
        said_B = model(pictures_BHW, ids_3.expand(len(pictures_BHW), -1)).argmax(-1)
        row[name] = round((said_B == answers_B).double().mean().item(), 3)
    return row


@torch.no_grad()
def answered(model: Asker) -> dict[str, object]:
    pictures_BHW, _ = _asked_pictures()
    others_BHW, _ = two_digits(digits(held_out=True), TESTED)(torch.Generator().manual_seed(2))
    row: dict[str, object] = {
        "tested": TESTED,
        "right": _right_answers(model),
        "other_question": _right_answers(model, shift=1),
    }
    looks_at, stays = {}, {}
    for q, side in enumerate(("left", "right")):
        ids_B3 = asked(len(QUESTIONS))[q].expand(TESTED, -1)
        with capture_attention(model) as maps:
            said_B = model(pictures_BHW, ids_B3).argmax(-1)
        weights_P = maps["asks.cross_attention"].mean((0, 1, 2)).view(4, 2, 4).sum((0, 2))
        looks_at[side] = round(weights_P[q].item(), 3)
        halves = pictures_BHW[..., :8], others_BHW[..., 8:]
        if side == "right":
            halves = others_BHW[..., :8], pictures_BHW[..., 8:]
        again_B = model(torch.cat(halves, -1), ids_B3).argmax(-1)
        stays[side] = round((again_B == said_B).double().mean().item(), 3)
    return row | {"looks": looks_at, "stays": stays}


def seen_numbers() -> Tensor:
    """Of the numbers 00 to 99 (10, 10) all but the 20 whose digits are 4 or 6 apart: with 40, 04 is left out, too."""
    apart_NN = (torch.arange(10)[:, None] - torch.arange(10)).abs()
    return (apart_NN != 4) & (apart_NN != 6)


def _without_attention(*, names: bool = False) -> nn.Module:
    """`Pairs` whose pictures go through a convolution and, unless `names` attend, each word by itself."""
    model = on_the_page().Pairs()
    model.picture = on_the_page().convolution(classes=32, patches=32)
    if not names:
        model.name = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    return model


def pairs(seed: int) -> dict[str, object]:
    page = on_the_page()
    row: dict[str, object] = {"seed": seed, "tested": TESTED}
    for name, kind in (
        ("clip", page.Pairs),
        ("no_order", lambda: page.Pairs(order=False)),
        ("convolution", lambda: _without_attention(names=True)),
        ("without", _without_attention),
    ):
        seed_everything(seed)
        model = kind()
        draw = two_digits(digits(), 64, seen_numbers())
        history = fit(model, page.clip_loss, draw, 600, lr=5e-3, seed=seed, device="cpu")
        row[name] = found(model) | {"loss": round(sum(history.losses[-50:]) / 50, 2)}
    return row


@torch.no_grad()
def found(model: nn.Module) -> dict[str, float]:
    every_K2 = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    row = {}
    for name, allowed in (("seen", seen_numbers()), ("new", ~seen_numbers())):
        pictures_BHW, numbers_B2 = two_digits(digits(held_out=True), TESTED, allowed)(torch.Generator().manual_seed(1))
        pictures_BD, _ = model(pictures_BHW, numbers_B2)
        _, names_KD = model(pictures_BHW[:1], every_K2)
        scores_BK = pictures_BD @ names_KD.T
        tied_BK = (scores_BK > scores_BK.amax(-1, keepdim=True) - 1e-5).double()
        share_BK = tied_BK / tied_BK.sum(-1, keepdim=True)  # a tie is a coin
        at_B, mirror_B = (pair_B2 @ torch.tensor([10, 1]) for pair_B2 in (numbers_B2, numbers_B2.flip(1)))
        mirrored_B = share_BK.gather(1, mirror_B[:, None])[:, 0] * (at_B != mirror_B)
        row[name] = round(share_BK.gather(1, at_B[:, None]).mean().item(), 3)
        row[f"{name}_mirrored"] = round(mirrored_B.mean().item(), 3)
    return row


def counts(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "tested": TESTED}
    for attends, pool in product((True, False), ("mean", "sum")):
        name = f"{'attends' if attends else 'alone'}_{pool}"
        for steps in COUNTED:
            model = _counter(seed, attends, pool, sets(digits(), 64), steps)
            for L in (4, 6, 9):
                test = sets(digits(held_out=True), TESTED, L)(torch.Generator().manual_seed(1))
                row[f"{name}_{steps}_{L}"] = round(right(model, test), 3)
        model = _counter(seed, attends, pool, _of_every_size(digits(), 8), SIZED)
        tests = _of_every_size(digits(held_out=True), 100)(torch.Generator().manual_seed(1))
        row[f"{name}_size"] = round(sum(right(model, test) for test in tests) / len(tests), 3)
    return row


def _counter(seed: int, attends: bool, pool: str, draw: Callable, steps: int) -> nn.Module:
    """Trained on one batch per step, or on several."""

    def loss(model: nn.Module, given: Any) -> Tensor:
        batches = given if isinstance(given, list) else [given]
        return torch.stack([count_loss(model, batch) for batch in batches]).mean()

    seed_everything(seed)
    model = on_the_page().Counter(attends, pool)
    fit(model, loss, draw, steps, lr=3e-3, seed=seed, device="cpu")
    return model


def _of_every_size(data: tuple[Tensor, Tensor], size: int) -> Callable[[torch.Generator], list[tuple[Tensor, Tensor]]]:
    """To be called in each step of training: so many sets of 1 to 9 images each, and how many members they have."""

    def draw(generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
        return [(sets(data, size, L)(generator)[0], torch.full((size,), L)) for L in range(1, 10)]

    return draw


def reach(seed: int) -> dict[str, object]:
    Walker = on_the_page().Walker
    row: dict[str, object] = {"seed": seed, "tested": TESTED}
    for name, kind, steps in (
        ("mask", Walker, 400),
        ("one_layer", lambda: Walker(layers=1), 400),
        ("read", lambda: ReadsEdges(Walker()), 400),
        ("read_longer", lambda: ReadsEdges(Walker()), 1200),
    ):
        seed_everything(seed)
        model = kind()
        fit(model, reach_loss, graphs(64), steps, lr=3e-3, seed=seed, device="cpu")
        for L in (12,) if name.startswith("read") else (12, 24):
            edges_BLL, marked_BL, near_BL = graphs(TESTED, L)(torch.Generator().manual_seed(1))
            with torch.no_grad():
                right_BL = (model(edges_BLL, marked_BL) > 0) == near_BL.bool()
            row[f"{name}_{L}"] = {
                "nodes": round(right_BL.double().mean().item(), 3),
                "graphs": round(right_BL.all(1).double().mean().item(), 3),
            }
    return row


class ReadsEdges(nn.Module):
    """A `Walker` without a mask, whose nodes read their row of the edges, and know which row is their own."""

    def __init__(self, walker: Any, L: int = 12, D: int = 32):
        super().__init__()
        self.walker, self.rows = walker, nn.Linear(2 * L, D)

    def forward(self, edges_BLL: Tensor, marked_BL: Tensor) -> Tensor:
        own_BLL = torch.eye(edges_BLL.shape[1]).expand(edges_BLL.shape)
        x_BLD = self.walker.marks(marked_BL) + self.rows(torch.cat([edges_BLL.float(), own_BLL], -1))
        for block in self.walker.blocks:
            x_BLD = block(x_BLD)
        return self.walker.score(self.walker.norm(x_BLD))[..., 0]
