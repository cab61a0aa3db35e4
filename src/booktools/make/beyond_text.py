"""What chapter 14 measures with several seeds.

images     a vision Transformer, after 1,000 steps, on images that are moved a little: the share of digits held out, by
           digit and by form, that it gets right; and by digit with images as they are, with the patches of all images
           in one other order, with another order for each image, without positions, and with fewer digits to learn
           from; beside it the nearest image, a convolution and a network of one layer, which learn as long
looks      over all digits held out by digit: the rank correlation, within an image, of what the class token looks at
           (in each block, the mean of its heads; and multiplied through the blocks) with how much the right score falls
           when the patch is covered by the mean image; the same with where ink is, and where it is unusual; how often
           the most looked-at patch is the one whose cover costs most; and how much the score falls when the three most
           looked-at patches are covered, three with most ink, three at random
questions  an `Asker` after 1,000 steps: the share of right answers, by question, to pictures of digits held out, and
           with another question in place of the one asked; what share of its looks at patches is on the side asked for;
           and how often an answer about one side stays when the digit on the other side is exchanged
pairs      pictures and names that learned by CLIP's loss, 600 steps, but 20 of the 100 numbers never: the share of
           pictures of seen and of new numbers whose nearest name, of all 100, is right; the same without positions in
           the names, where 42 and 24 are one name and a coin decides (`mirrored`: the share that is given the other)
counts     how many different digits a set of six shows, after 600 steps: for sets of four, six and nine, with members
           that attend, and with those that do not, averaged or summed up, and those after 3,000 steps, too
reach      who is within two steps of the marked node of a graph, after 400 steps: the share of nodes and of whole
           graphs of 12 and of 24 nodes, edges as the mask; with one layer; with no mask; with no mask but edges to be
           read, after 1,200 steps, too; and what is right when every node says no
"""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.device import seed_everything
from attnbook.layers.capture import capture_attention
from attnbook.learning.training import fit
from attnbook.tasks.digits import (
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
from attnbook.tasks.pictures import QUESTIONS, Asker, Pairs, asked, clip_loss, question_loss, questions, two_digits
from attnbook.tasks.sets import Counter, Walker, count_loss, graphs, reach_loss, sets

Network = TypeVar("Network", bound=nn.Module)
STEPS, BATCH, RATE, MOVE = 1000, 64, 5e-3, 0.05
TESTED = 1000  # sets, graphs, pictures


def learned(kind: Callable[[], Network], data: tuple[Tensor, Tensor], seed: int, move: float = MOVE) -> Network:
    seed_everything(seed)
    model = kind()
    fit(model, digit_loss, draws(data, BATCH, move=move), STEPS, lr=RATE, seed=seed, device="cpu")
    return model


def convolution() -> nn.Module:
    """As many parameters as the Transformer has, about."""
    layers = [nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 48, 3, padding=1), nn.ReLU()]
    return nn.Sequential(nn.Unflatten(1, (1, 8)), *layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(192, 10))


def network() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 240), nn.ReLU(), nn.Linear(240, 10))


def nowhere() -> nn.Module:
    model = VisionTransformer()
    nn.init.zeros_(model.positions).requires_grad_(False)
    return model


def nearest(learn: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor]) -> float:
    """The share of images whose nearest one, pixel by pixel, has their label."""
    found = torch.cdist(test[0].flatten(1), learn[0].flatten(1)).argmin(1)
    return (learn[1][found] == test[1]).double().mean().item()


def reordered(images_BHW: Tensor, generator: torch.Generator, *, each: bool) -> Tensor:
    """The patches of all images in one other order; or each image's in its own."""
    x_BPp = patches(images_BHW)
    order_BP = torch.rand(len(x_BPp) if each else 1, 16, generator=generator).argsort(-1).expand(len(x_BPp), -1)
    x_BPp = x_BPp.gather(1, order_BP[..., None].expand_as(x_BPp))
    return x_BPp.view(-1, 4, 4, 2, 2).transpose(2, 3).reshape(-1, 8, 8)


def with_patches_mixed(seed: int, *, each: bool) -> float:
    draw = draws(digits(), BATCH, move=MOVE)

    def mixed(images_BHW: Tensor, generator: torch.Generator) -> Tensor:
        return reordered(images_BHW, generator if each else torch.Generator().manual_seed(7), each=each)

    def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        images_BHW, labels_B = draw(generator)
        return mixed(images_BHW, generator), labels_B

    seed_everything(seed)
    model = VisionTransformer()
    fit(model, digit_loss, batch, STEPS, lr=RATE, seed=seed, device="cpu")
    images_BHW, labels_B = digits(held_out=True)
    return right(model, (mixed(images_BHW, torch.Generator().manual_seed(8)), labels_B))


def images(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "steps": STEPS}
    for by in ("digit", "form"):
        learn, test = digits(by=by), digits(held_out=True, by=by)
        row[f"tested_{by}"] = len(test[1])
        row[f"nearest_{by}"] = round(nearest(learn, test), 3)
        for name, kind in (("transformer", VisionTransformer), ("convolution", convolution), ("network", network)):
            model = learned(kind, learn, seed)
            row[f"{name}_{by}"] = round(right(model, test), 3)
            row[f"{name}_parameters"] = sum(p.numel() for p in model.parameters())
        row[f"as_they_are_{by}"] = round(right(learned(VisionTransformer, learn, seed, move=0.0), test), 3)
    learn, test = digits(), digits(held_out=True)
    row["one_order"] = round(with_patches_mixed(seed, each=False), 3)
    row["own_orders"] = round(with_patches_mixed(seed, each=True), 3)
    row["no_positions"] = round(right(learned(nowhere, learn, seed), test), 3)
    for few in (100, 400):
        some = learn[0][:few], learn[1][:few]
        row[f"transformer_{few}"] = round(right(learned(VisionTransformer, some, seed), test), 3)
        row[f"convolution_{few}"] = round(right(learned(convolution, some, seed), test), 3)
        row[f"nearest_{few}"] = round(nearest(some, test), 3)
    return row


def ranks(x_BP: Tensor) -> Tensor:
    """Each number's place among those of its row; ties share the mean of their places."""
    less = (x_BP[:, :, None] > x_BP[:, None]).double().sum(-1)
    same = (x_BP[:, :, None] == x_BP[:, None]).double().sum(-1)
    return less + (same - 1) / 2


def rank_correlation(x_BP: Tensor, y_BP: Tensor) -> Tensor:
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
            "correlation": round(rank_correlation(x_BP, drops_BP).mean().item(), 3),
            "positive": round((rank_correlation(x_BP, drops_BP) > 0).double().mean().item(), 3),
            "same_top": round((x_BP.argmax(1) == drops_BP.argmax(1)).double().mean().item(), 3),
            "three_covered": round(falls_B.mean().item(), 2),
            "still_right": round(right(model, (hidden_BHW, labels_B)), 3),
        }
    return row


def asker_trained(seed: int) -> Asker:
    seed_everything(seed)
    model = Asker()
    fit(model, question_loss, questions(digits(), 60), STEPS, lr=RATE, seed=seed, device="cpu")
    return model


def questions_and_pictures(seed: int) -> dict[str, object]:
    return {"seed": seed, **answered(asker_trained(seed))}


@torch.no_grad()
def answered(model: Asker) -> dict[str, object]:
    n, Q = TESTED, len(QUESTIONS)
    draw = two_digits(digits(held_out=True), n)
    pictures_BHW, numbers_B2 = draw(torch.Generator().manual_seed(1))
    others_BHW, others_B2 = draw(torch.Generator().manual_seed(2))
    left, right_ = numbers_B2.T
    answers = dict(zip(QUESTIONS, [left, right_, numbers_B2.amax(1), numbers_B2.amin(1), left + right_], strict=True))
    ids_Q3 = asked(Q)

    def said(pictures_BHW: Tensor, question: int) -> Tensor:
        return model(pictures_BHW, ids_Q3[question].expand(len(pictures_BHW), -1)).argmax(-1)

    def share(x: Tensor) -> float:
        return round(x.double().mean().item(), 3)

    row: dict[str, object] = {"tested": n}
    row["right"] = {name: share(said(pictures_BHW, q) == want) for q, (name, want) in enumerate(answers.items())}
    row["other_question"] = {
        name: share(said(pictures_BHW, (q + 1) % Q) == want) for q, (name, want) in enumerate(answers.items())
    }
    both_differ = (numbers_B2 != others_B2).any(1)
    row["other_picture"] = share((said(others_BHW, 4) == left + right_)[both_differ])
    row["looks"], row["stays"] = {}, {}
    for q, side in enumerate(("left", "right")):
        with capture_attention(model) as maps:
            model(pictures_BHW, ids_Q3[q].expand(n, -1))
        weights_P = maps["asks.cross_attention"].mean((0, 1, 2)).view(4, 2, 4).sum((0, 2))
        row["looks"][side] = round(weights_P[q].item(), 3)
        swapped_BHW = torch.cat([pictures_BHW[..., :8], others_BHW[..., 8:]], -1)
        if side == "right":
            swapped_BHW = torch.cat([others_BHW[..., :8], pictures_BHW[..., 8:]], -1)
        row["stays"][side] = share(said(swapped_BHW, q) == said(pictures_BHW, q))
    return row


def seen_numbers() -> Tensor:
    """Of the numbers 00 to 99 (10, 10) all but 20."""
    seen_100 = torch.ones(100, dtype=torch.bool)
    seen_100[torch.randperm(100, generator=torch.Generator().manual_seed(0))[:20]] = False
    return seen_100.view(10, 10)


def pairs(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "tested": TESTED}
    for name, order in (("clip", True), ("no_order", False)):
        seed_everything(seed)
        model = Pairs(order=order)
        fit(model, clip_loss, two_digits(digits(), 64, seen_numbers()), 600, lr=5e-3, seed=seed, device="cpu")
        row[name] = found(model)
    return row


@torch.no_grad()
def found(model: Pairs) -> dict[str, float]:
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
    for name, steps, attends, pool in (
        ("attends", 600, True, "mean"),
        ("averaged", 600, False, "mean"),
        ("summed", 600, False, "sum"),
        ("summed_longer", 3000, False, "sum"),
    ):
        seed_everything(seed)
        model = Counter(attends=attends, pool=pool)
        fit(model, count_loss, sets(digits(), 64), steps, lr=3e-3, seed=seed, device="cpu")
        for L in (4, 6, 9):
            images_BLHW, counts_B = sets(digits(held_out=True), TESTED, L)(torch.Generator().manual_seed(1))
            with torch.no_grad():
                row[f"{name}_{L}"] = round((model(images_BLHW).argmax(-1) == counts_B).double().mean().item(), 3)
    return row


def reach(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed, "tested": TESTED}
    for name, layers, edges, steps in (
        ("mask", 2, "mask", 400),
        ("one_layer", 1, "mask", 400),
        ("no_mask", 2, "nothing", 400),
        ("read", 2, "read", 400),
        ("read_longer", 2, "read", 1200),
    ):
        seed_everything(seed)
        model = Walker(layers, edges=edges)
        fit(model, reach_loss, graphs(64), steps, lr=3e-3, seed=seed, device="cpu")
        for L in (12,) if edges == "read" else (12, 24):
            edges_BLL, marked_BL, near_BL = graphs(TESTED, L)(torch.Generator().manual_seed(1))
            with torch.no_grad():
                right_BL = (model(edges_BLL, marked_BL) > 0) == near_BL.bool()
            row[f"{name}_{L}"] = {
                "nodes": round(right_BL.double().mean().item(), 3),
                "graphs": round(right_BL.all(1).double().mean().item(), 3),
            }
            row[f"no_{L}"] = round(1 - near_BL.mean().item(), 3)
    return row
