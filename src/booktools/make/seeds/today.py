"""What chapter 13 measures with several seeds: what changed in attention, at a size that runs here.

windows    for each of two passages of 512 tokens, the loss of chapter 12's published model over the last 256 when each
           sees all tokens before it (`all`), or the last 16 or 64 alone, with the first one, and with the first four;
           when each head picks 4 blocks of 16 tokens (`picked`), and has the first token besides; when it has the first
           token, the last 64, and the means of four for all between (`pooled`), or as many of the last tokens as these
           are in all (`as_many`); and when all keys and values are kept in fewer bits (`fp8`, `int8`, `int4`)
silent     one head is asked for the values of keys, and should answer zeros when it is asked for a key that isn't there
           (`absent`) or by a token that asks for nothing (`idle`), which is the half: the mean square of what each half
           is off, for softmax, with a first token to look at, with a learned sink, and with a gate on the output
loud       chapter 11's model of characters, 200 steps at four rates: bits per character of the text that is held out,
           and the largest score, as it is, with a norm of queries and keys, and with scores that are capped at 30
lengths    the same model after 400 steps on 64 characters: its loss over the last 32 of 64, 128, 256 and 512, as it is,
           with positions interpolated, with a larger base, with YaRN, and when it sees the last 64 alone; after 100
           more steps on 256 characters, as it is and interpolated; and trained with a quarter of the features turned
experts    the same model, 400 steps, with networks of width 128; with eight of width 64, two for each character, with
           and without a loss that balances them; and with one of width 512, all of it for each character: bits per
           character, the smallest share of the choices that an expert has, and the largest
recall     pairs of a key and a value are read, 4 to 28 of them, and then the keys again in another order: the share of
           values that is right, with 4, 16 and 28 pairs, after 800 steps. Two layers of one head, a short convolution
           before each, keys of width 8: softmax; linear attention with elu + 1 and divided sums (`linear`), with a norm
           in place of the division (`normed`), with keys as they are (`signed`), of unit length (`unit`), these without
           the norm (`bare`), with one gate for the state, and with the delta rule; the gate with the features of linear
           (`gate_elu`); linear with unit keys below softmax (`unit_below`), and linear above it (`above`); and linear
           and the delta rule after four times as many steps (`_longer`)
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.data import shakespeare
from attnbook.device import seed_everything
from attnbook.layers.dot_product import shared
from attnbook.layers.linear import LinearAttention
from attnbook.layers.masks import causal, sliding_window
from attnbook.layers.multihead import MultiHeadAttention
from attnbook.layers.positions import Rotary
from attnbook.layers.scaling import NTKAware, PositionInterpolation, YaRN
from attnbook.layers.sparse import top_blocks
from attnbook.learning.training import fit
from attnbook.models.experts import MixtureOfExperts, capture_routing
from attnbook.models.transformer import LanguageModel
from attnbook.tasks.writing import next_token_loss, pieces
from booktools.make.seeds.real_heads import losses, published
from booktools.make.seeds.small_models import BATCH, CONTEXT, STEPS, bits, model_of, tokens_of, trained

SEEN = ((16, 0), (16, 1), (16, 4), (64, 0), (64, 1), (64, 4))  # windows, and how many of the first tokens
BLOCK, TOP = 16, 4
POOLED = 4  # tokens to a mean
RATES = (0.01, 0.03, 0.1, 0.3)
HEADS = 4  # of the model of characters, 64 wide
LENGTHS, LAST = (64, 128, 256, 512), 32
TUNED, TUNING = 256, 100
LONGER = {"steps": 3200, "lr": 3e-3}  # at the rate of 800 steps the sums become NaN
KEYS, PAIRS = 32, (4, 16, 28)  # of the recall: how many keys there are, and as many values; pairs that are tested


def windows(passage: int) -> dict[str, float]:
    """From the plays, a passage that begins with a scene's first lines or not: what a model meets."""
    text = shakespeare()[50_000 + 300_000 * passage :][:4000]
    ids_BL = published()[1].encode(text)[None, :513]
    seen = {"all": (512, 0)} | {f"{window}+{sinks}": (window, sinks) for window, sinks in SEEN}
    masks = {name: sliding_window(513, window=window, sinks=sinks) for name, (window, sinks) in seen.items()}
    masks["as_many"] = _narrowing(513)
    row = {name: round(losses(ids_BL, mask=mask)[0, 256:].mean().item(), 3) for name, mask in masks.items()}
    ways = {"picked": _picked(0), "picked+1": _picked(1), "pooled": pooled}
    for name, way in (ways | {kind: stored(kind) for kind in ("fp8", "int8", "int4")}).items():
        with _attending(way):
            row[name] = round(losses(ids_BL, mask=masks["all"])[0, 256:].mean().item(), 3)
    return row


Change = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, ...]]


@contextmanager
def _attending(change: Change) -> Iterator[None]:
    """Inside, heads of the published model attend to the keys, values, mask and bias that `change` returns."""
    layers = attentions(published()[0])

    def changed(attend: Callable) -> Callable:
        def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, bias: None, **options) -> Tensor:
            return attend(q, *change(q, shared(k, q), shared(v, q), mask), **options)

        return attended

    for layer in layers:
        layer._attend = changed(layer._attend)
    yield
    for layer in layers:
        del layer._attend


def _picked(sinks: int) -> Change:
    """Each head sees the blocks that it likes best, and the first tokens."""

    def change(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        return k, v, top_blocks(q, k, block=BLOCK, top=TOP) | sliding_window(q.shape[-2], window=1, sinks=sinks)

    return change


def pooled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """Of keys and values that left a window of 64 there are means of four, with the weight of four; the first stays."""
    L, whole = k.shape[-2], k.shape[-2] // POOLED
    mean_k, mean_v = (x[..., : whole * POOLED, :].unflatten(-2, (whole, POOLED)).mean(-2) for x in (k, v))
    left_LN = (torch.arange(whole) + 1) * POOLED + 63 <= torch.arange(L)[:, None]
    alone_LL = causal(L) & ~F.pad(left_LN.repeat_interleave(POOLED, 1), (0, L - whole * POOLED))
    alone_LL[:, 0] = True
    bias_LN = F.pad(torch.full((L, whole), math.log(POOLED)), (L, 0))
    return torch.cat([k, mean_k], -2), torch.cat([v, mean_v], -2), torch.cat([alone_LL, left_LN], 1), bias_LN


def _narrowing(L: int) -> Tensor:
    """The first token, and as many of the last as `pooled` has keys: a window that grows by one in four tokens."""
    back_LL = torch.arange(L)[:, None] - torch.arange(L)
    window_L1 = 64 + (torch.arange(L)[:, None] - 64).clamp(min=0) // POOLED
    return causal(L) & ((back_LL < window_L1) | (torch.arange(L) == 0))


def stored(kind: str) -> Change:
    """Keys and values as they come back from a cache; integers have a scale for each token and head."""

    def rounded(x: Tensor) -> Tensor:
        if kind == "fp8":
            return x.to(torch.float8_e4m3fn).to(x.dtype)
        unit = x.abs().amax(-1, keepdim=True) / {"int8": 127, "int4": 7}[kind]
        return (x / unit).round() * unit

    return lambda q, k, v, mask: (rounded(k), rounded(v), mask)


class Answering(nn.Module):
    """One head, (B, L, V), which may have a first token to look at, a learned sink or a gate on its output."""

    def __init__(self, D: int, V: int, way: str):
        super().__init__()
        self.way, self.query, self.key = way, nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.sink = nn.Parameter(torch.zeros(1, 1, 1))
        self.first = nn.Parameter(torch.zeros(1, 1, D))
        self.gate = nn.Linear(D, V)

    def forward(self, x_BLD: Tensor, keys_BMD: Tensor, values_BMV: Tensor) -> Tensor:
        k = self.key(keys_BMD)
        k = torch.cat([self.first.expand(len(k), -1, -1), k], 1)
        scores_BLN = self.query(x_BLD) @ k.mT / k.shape[-1] ** 0.5
        if self.way == "sink":
            scores_BLN = torch.cat([self.sink.expand(*scores_BLN.shape[:2], 1), scores_BLN[..., 1:]], -1)
        elif self.way != "first":
            scores_BLN = scores_BLN[..., 1:]
        y_BLV = scores_BLN.softmax(-1)[..., -values_BMV.shape[1] :] @ values_BMV
        return y_BLV * self.gate(x_BLD).sigmoid() if self.way == "gate" else y_BLV


def asked(kind: str, size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Tokens that ask (size, 8, 17), eight keys and values, the right answers, and which of them are zeros."""
    keys, others = (F.normalize(torch.randn(size, 8, 16, generator=generator), dim=-1) for _ in range(2))
    values = torch.randn(size, 8, 8, generator=generator)
    which = torch.randint(8, (size, 8, 1), generator=generator)
    silent = torch.rand(size, 8, 1, generator=generator) < 0.5
    found = keys.gather(1, which.expand(-1, -1, 16))
    asking = torch.where(silent, others, found) if kind == "absent" else found
    flag = silent.to(keys) if kind == "idle" else torch.zeros(size, 8, 1)
    right = values.gather(1, which.expand(-1, -1, 8)) * ~silent
    return torch.cat([asking, flag], -1), F.pad(keys, (0, 1)), values, right, silent[..., 0]


def silent(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed}
    for kind in ("absent", "idle"):
        for way in ("softmax", "first", "sink", "gate"):
            seed_everything(seed)
            model = Answering(17, 8, way)

            def loss(model: nn.Module, given: tuple[Tensor, ...]) -> Tensor:
                return (model(*given[:3]) - given[3]).square().mean()

            fit(model, loss, lambda generator, kind=kind: asked(kind, 64, generator), 1000, lr=1e-2, seed=seed)
            *given, right, is_silent = asked(kind, 2000, torch.Generator().manual_seed(1000 + seed))
            with torch.no_grad():
                off = (model(*given) - right).square().mean(-1)
            row[f"{kind}_{way}"] = [round(off[part].mean().item(), 3) for part in (~is_silent, is_silent)]
    return row


def attentions(model: nn.Module) -> list[MultiHeadAttention]:
    return [layer for layer in model.modules() if isinstance(layer, MultiHeadAttention)]


@torch.no_grad()
def _loudest(model: LanguageModel) -> float:
    """The largest score, before any cap, in 32 passages that are held out."""
    found = [0.0]

    def listening(attend: Callable) -> Callable:
        def listened(q: Tensor, k: Tensor, *rest, **options) -> Tensor:
            found.append((q @ shared(k, q).mT / q.shape[-1] ** 0.5).abs().max().item())
            return attend(q, k, *rest, **options)

        return listened

    for layer in attentions(model):
        layer._attend = listening(layer._attend)
    model(tokens_of(65)[1][: 32 * CONTEXT].view(32, CONTEXT))
    return max(found)


def loud(seed: int) -> dict[str, object]:
    ways = {"plain": {}, "norm": {"qk_norm": nn.RMSNorm}, "cap": {"softcap": 30.0}}
    row: dict[str, object] = {"seed": seed, "rates": RATES}
    for name, options in ways.items():
        models = [trained(seed, 65, 200, rate, **options) for rate in RATES]
        row[name] = [bits(model) for model in models]
        row[f"{name}_loudest"] = [float(f"{_loudest(model):.3g}") for model in models]
    return row


def scaled(model: LanguageModel, scaling: PositionInterpolation | None, window: int | None = None) -> LanguageModel:
    for layer in attentions(model):
        layer.rotary, layer.window = Rotary(64 // HEADS, pairing="neighbours", scaling=scaling), window
    return model


@torch.no_grad()
def _at_the_end(model: LanguageModel, length: int) -> float:
    """The loss over the last characters of passages so long; in all lengths the same characters are predicted."""
    held_out, longest = tokens_of(65)[1], max(LENGTHS)
    rows = held_out[: len(held_out) // (longest + 1) * (longest + 1)].view(-1, longest + 1)[:96, -length - 1 :]
    parts = [model(row[:, :-1])[:, -LAST:] for row in rows.split(16)]
    return round(F.cross_entropy(torch.cat(parts).mT, rows[:, -LAST:]).item(), 3)


class Partly(PositionInterpolation):
    """Of the features a quarter turns, at the speeds of a head of this width; the others stay as they are."""

    def frequencies(self, K: int, base: float = 10000.0) -> Tensor:
        return F.pad(super().frequencies(K // 4, base), (0, K // 2 - K // 8))


def lengths(seed: int) -> dict[str, object]:
    model = trained(seed)
    row: dict[str, object] = {"seed": seed, "lengths": LENGTHS}
    ways = {
        "none": lambda factor: None,
        "interpolated": PositionInterpolation,
        "base": NTKAware,
        "yarn": partial(YaRN, trained=CONTEXT),
    }
    for name, way in ways.items():
        row[name] = [_at_the_end(scaled(model, way(length / CONTEXT)), length) for length in LENGTHS]
    row["window"] = [_at_the_end(scaled(model, None, CONTEXT), length) for length in LENGTHS]
    for name, scaling in (("none", None), ("interpolated", PositionInterpolation(TUNED / CONTEXT))):
        longer = scaled(trained(seed), scaling)
        draw = pieces(tokens_of(65)[0], BATCH * CONTEXT // TUNED, TUNED)
        fit(longer, next_token_loss, draw, TUNING, lr=1e-3, seed=seed)
        row[f"{name}_tuned"] = [_at_the_end(longer, length) for length in LENGTHS]
    seed_everything(seed)
    partly = scaled(model_of(65), Partly(1))
    fit(partly, next_token_loss, pieces(tokens_of(65)[0], BATCH, CONTEXT), STEPS, lr=1e-2, seed=seed)
    row["partly"] = [_at_the_end(partly, length) for length in LENGTHS]
    return row


def experts(seed: int) -> dict[str, object]:
    row: dict[str, object] = {"seed": seed}
    for name, hidden in (("small", 128), ("large", 512)):
        model = trained(seed, hidden=hidden)
        row[name] = bits(model)
        row[f"{name}_parameters"] = sum(p.numel() for p in model.parameters())
    for name, share in (("alone", 0.0), ("balanced", 0.01)):
        seed_everything(seed)
        model = model_of(65, hidden=64, feed_forward=partial(MixtureOfExperts, experts=8, active=2))

        def loss(model: LanguageModel, ids: Tensor, share: float = share) -> Tensor:
            with capture_routing(model) as routings:
                found = next_token_loss(model, ids)
            return found + share * torch.stack([routing.balance for routing in routings.values()]).sum()

        fit(model, loss, pieces(tokens_of(65)[0], BATCH, CONTEXT), STEPS, lr=1e-2, seed=seed)
        row[name] = bits(model)
        row[f"{name}_parameters"] = sum(p.numel() for p in model.parameters())
        with torch.no_grad(), capture_routing(model) as routings:
            model(tokens_of(65)[1][: 64 * CONTEXT].view(64, CONTEXT))
        loads = torch.stack([routing.load for routing in routings.values()])
        row[f"{name}_loads"] = [round(loads.min().item(), 3), round(loads.max().item(), 3)]
    return row


def _asked_again(size: int, pairs: int, generator: torch.Generator) -> Tensor:
    """Ids (size, 4 pairs): each key, below 32, and its value, then all again in another order."""
    keys = torch.rand(size, KEYS, generator=generator).argsort(-1)[:, :pairs]
    values = torch.randint(KEYS, 2 * KEYS, (size, pairs), generator=generator)
    order = torch.rand(size, pairs, generator=generator).argsort(-1)
    told, asked = (torch.stack(both, -1) for both in ((keys, values), (keys.gather(1, order), values.gather(1, order))))
    return torch.cat([told, asked], 1).flatten(1)


class Mixed(nn.Module):
    """x + attention of x, normed, with each token mixed with the two before it."""

    def __init__(self, D: int, attention: nn.Module):
        super().__init__()
        self.norm, self.near, self.attention = nn.RMSNorm(D), nn.Conv1d(D, D, 3, groups=D), attention

    def forward(self, x: Tensor) -> Tensor:
        near = self.near(F.pad(self.norm(x).mT, (2, 0))).mT
        return x + self.attention(near, mask=causal(x.shape[1]))


class Recaller(nn.Module):
    """Scores (B, L, 64) for the id after each."""

    def __init__(self, attentions: list[nn.Module], D: int = 64):
        super().__init__()
        self.table, self.norm = nn.Embedding(2 * KEYS, D), nn.RMSNorm(D)
        self.layers = nn.Sequential(*(Mixed(D, attention) for attention in attentions))
        nn.init.normal_(self.table.weight, std=D**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.norm(self.layers(self.table(ids))) @ self.table.weight.mT

    def answers(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The scores after each key that comes again, and the value that is right."""
        half = ids.shape[1] // 2
        return self(ids)[:, half::2].flatten(0, 1), ids[:, half + 1 :: 2].flatten()


class Bare(nn.RMSNorm):
    """A norm that does nothing, to take the place of one."""

    def forward(self, x: Tensor) -> Tensor:
        return x


def linear(*sizes: int, norm: type[nn.RMSNorm] | None = None, **options) -> LinearAttention:
    """With a norm instead of the division, or with something instead of the norm."""
    layer = LinearAttention(*sizes, **options)
    if norm is not None:
        layer.norm = norm(options["d_v"])
    return layer


def _recalling(seed: int, kinds: str, steps: int = 800, lr: float = 8e-3, **options) -> list[float]:
    """The shares that are right; of the kinds, S is softmax and L linear, the lower layer first."""
    seed_everything(seed)
    make = {"S": MultiHeadAttention, "L": partial(linear, **options)}
    model = Recaller([make[kind](64, 1, d_k=8, d_v=64) for kind in kinds])

    def draw(generator: torch.Generator) -> Tensor:
        return _asked_again(32, int(torch.randint(4, 29, (), generator=generator)), generator)

    fit(model, lambda model, ids: F.cross_entropy(*model.answers(ids)), draw, steps, lr=lr, seed=seed)
    found: list[float] = []
    for pairs in PAIRS:
        with torch.no_grad():
            scores, right = model.answers(_asked_again(256, pairs, torch.Generator().manual_seed(1000 + pairs)))
        found.append(round((scores.argmax(-1) == right).double().mean().item(), 3))
    return found


def recall(seed: int) -> dict[str, object]:
    return {
        "seed": seed,
        "softmax": _recalling(seed, "SS"),
        "linear": _recalling(seed, "LL"),
        "normed": _recalling(seed, "LL", norm=nn.RMSNorm),
        "signed": _recalling(seed, "LL", features="none"),
        "unit": _recalling(seed, "LL", features="unit"),
        "bare": _recalling(seed, "LL", features="unit", norm=Bare),
        "gate_elu": _recalling(seed, "LL", decay="state", features="elu"),
        "gate": _recalling(seed, "LL", decay="state"),
        "delta": _recalling(seed, "LL", delta=True),
        "unit_below": _recalling(seed, "LS", features="unit"),
        "above": _recalling(seed, "SL"),
        "linear_longer": _recalling(seed, "LL", **LONGER),
        "delta_longer": _recalling(seed, "LL", **LONGER, delta=True),
    }
