"""What chapter 12 measures on more texts than its page does: heads of a published model, looked at and switched off.

head_kinds for each of two samples of sixty sentences: which heads look one back by more than .5, how many rest on the
           first token by more than .8, and the rank correlation of both scores with those of the other sample
copying    for each of two draws of random tokens said twice, with heads that were chosen on another: what share of the
           second time is right (`copied`), the loss on plain text (`plain`), and on the second time of plain text said
           twice (`again`), with nothing off, six induction heads, six others, the head (16, 0), and three of its kind
said_twice for 60 prompts of each kind, 12 random tokens, random words and the beginnings of sentences, said twice: the
           quartiles of prompts of the share of the second time that is right, and in how many of them it is less than
           half of what it is with nothing off (`halved`), with nothing off, six induction heads, six others of the same
           blocks, the head (16, 0), and three of its kind; and the quartiles of what is right the first time (`once`)
sink       for each of eight texts: the loss of tokens 65 to 160 when all may be seen, the last 64, these and the first,
           all but the first, all but the sixth, and when the first was never there (`deleted`); the mean weight on the
           first token, its share of weight times length of the value, and how long its value is, by those of others
names      for each of two draws of 64 texts: how often the right name is the likeliest token; of four heads how much
           they look at the giver, what the margin loses without them (`total`) and what they themselves add to it
           (`direct`); what becomes of the margin where two of them bring what they found in the text with the names in
           the other order, and in how many texts it falls (`turned`); how much more (24, 4) adds without (23, 0), and
           in how many texts; what the margin loses without (28, 1) in each of four kinds of text, and in how many; how
           many heads change the margin by more than .1; the rank correlation over 135 heads of total effect and weight
           on the right name, of its size and weight on either name, and of the effects in two halves of the texts
facts      for each of seven ways to ask for a capital: of how many of thirty countries the model `knows` it; of these,
           exchanged between two texts after so many blocks (`after`), how often the answer follows the vector at the
           country (`country`) and at the last word (`last`); which `head` of the upper half, removed at the last word,
           `costs` the right city most of its lead over the other text's, how much, and how much the next one does
"""

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attnbook import pretrained
from attnbook.layers.capture import capture_attention
from attnbook.layers.masks import causal
from attnbook.layers.multihead import KVCache
from attnbook.models.transformer import LanguageModel
from attnbook.tasks.prompts import CAPITAL_OF, CAPITALS, gave_to, plain

Head = tuple[int, int]
BACK: list[Head] = [(16, 0), (1, 2), (11, 1), (2, 1)]
UPPER = 15  # the first of the blocks whose heads are switched off one by one


@cache
def published() -> tuple[LanguageModel, pretrained.PublishedPairs]:
    return pretrained.load()


def attentions(model: LanguageModel | None = None) -> list[nn.Module]:
    model = model or published()[0]
    return [model.decoder.get_submodule(f"{n}.self_attention") for n in range(len(model.decoder))]


def stream(ids_BL: Tensor, mask: Tensor | None = None) -> Tensor:
    """What the last norm gives, without the scores of all tokens."""
    model, _ = published()
    with torch.no_grad():
        return model.decoder(model.tokens(ids_BL), causal(ids_BL.shape[1]) if mask is None else mask)


def _maps_of(ids_BL: Tensor) -> Tensor:
    model, _ = published()
    with capture_attention(model) as maps:
        stream(ids_BL)
    return torch.stack([*maps.values()])


@contextmanager
def changed(
    heads: Iterable[Head], change: Callable[[Tensor, int], Tensor], model: LanguageModel | None = None
) -> Iterator[None]:
    """Inside, what these heads found goes through `change` before it meets W_o."""
    hooks, layers = [], attentions(model)
    for n, h in heads:

        def cut(layer: nn.Module, given: tuple, h: int = h) -> tuple[Tensor]:
            return (change(given[0], h),)

        hooks.append(layers[n].get_submodule("output").register_forward_pre_hook(cut))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def without(y_BLD: Tensor, h: int) -> Tensor:
    y_BLD = y_BLD.clone()
    y_BLD[..., 64 * h : 64 * (h + 1)] = 0
    return y_BLD


def _scores_of(x_BLD: Tensor) -> Tensor:
    return published()[0].tokens.scores(x_BLD)


def losses(ids_BL: Tensor, heads: Iterable[Head] = (), mask: Tensor | None = None) -> Tensor:
    """Returns the loss of each next token, (B, L - 1), with the output of these heads set to zero."""
    with changed(heads, without):
        scores = _scores_of(stream(ids_BL, mask)[:, :-1])
    return F.cross_entropy(scores.mT, ids_BL[:, 1:], reduction="none")


def _rank_correlation(a: Tensor, b: Tensor) -> float:
    ranks = [x.flatten().argsort().argsort().double() for x in (a, b)]
    return round(torch.corrcoef(torch.stack(ranks))[0, 1].item(), 3)


@cache
def _kind_scores(sample: int) -> tuple[Tensor, Tensor]:
    """Of each head the mean weight on the token before, and on the first, from the third query on."""
    rows = [published()[1].encode(text) for text in plain(sample)]
    ids_BL = pad_sequence(rows, batch_first=True)
    maps, query_L = _maps_of(ids_BL), torch.arange(ids_BL.shape[1])
    lengths_B1 = torch.tensor([[len(row)] for row in rows])
    counts = ((query_L >= 2) & (query_L < lengths_B1))[:, None]
    back = F.pad(maps.diagonal(-1, -2, -1), (1, 0))
    one, two = ((looks * counts).sum((1, 3)) / counts.sum() for looks in (back, maps[..., 0]))
    return one, two


def head_kinds(sample: int) -> dict[str, object]:
    (back, first), (other_back, other_first) = _kind_scores(sample), _kind_scores(1 - sample)
    return {
        "sample": sample,
        "back": [tuple(head) for head in (back > 0.5).nonzero().tolist()],
        "first": int((first > 0.8).sum()),
        "both": int(((first > 0.8) & (other_first > 0.8)).sum()),
        "back_again": _rank_correlation(back, other_back),
        "first_again": _rank_correlation(first, other_first),
    }


def twice(seed: int, B: int = 8, n: int = 25) -> Tensor:
    ids_BL = torch.randint(1000, 40_000, (B, n), generator=torch.Generator().manual_seed(seed))
    return torch.cat([ids_BL, ids_BL], 1)


@cache
def _induction_heads() -> list[Head]:
    maps, early = _maps_of(twice(1)), torch.arange(24)
    scores = maps[..., 25 + early, early + 1].mean((1, 3))
    return [(i // 9, i % 9) for i in scores.flatten().topk(6).indices.tolist()]


def copying(draw: int) -> dict[str, object]:
    six, ids_BL = _induction_heads(), twice(10 + draw)
    text = published()[1].encode(" ".join(plain(draw)))
    plain_BL, once_BL = text[:200].view(2, 100), text[:100].view(2, 50)
    rest = [(n, h) for n in range(30) for h in range(9) if (n, h) not in six + BACK]
    tried = {"nothing": [], "six": six, "others": random.Random(draw).sample(rest, 6)}
    tried |= {"back": BACK[:1], "others_back": BACK[1:]}
    row: dict[str, object] = {"draw": draw, "heads": six}
    for name, heads in tried.items():
        with changed(heads, without):
            best = _scores_of(stream(ids_BL)[:, 25:-1]).argmax(-1)
        row[name] = {
            "copied": round((best == ids_BL[:, 26:]).double().mean().item(), 3),
            "plain": round(losses(plain_BL, heads).mean().item(), 3),
            "again": round(losses(torch.cat([once_BL, once_BL], 1), heads)[:, 50:].mean().item(), 3),
        }
    return row


def said_twice(kind: int, count: int = 60) -> dict[str, object]:
    name, texts_BL = [("tokens", _random_tokens), ("words", _random_words), ("sentences", _sentences)][kind]
    six, ids_BL = _induction_heads(), texts_BL(count)
    n = ids_BL.shape[1]
    same = [(block, h) for block in sorted({block for block, _ in six}) for h in range(9) if (block, h) not in six]
    found: dict[str, list[Tensor]] = {}
    for draw, once_BL in enumerate(ids_BL.split(20)):  # twenty prompts, and six others of their own
        twice_BL = torch.cat([once_BL, once_BL], 1)
        tries = {"nothing": [], "six": six, "others": random.Random(draw).sample(same, 6)}
        for off, heads in (tries | {"back": BACK[:1], "others_back": BACK[1:]}).items():
            with changed(heads, without):
                right_BL = _scores_of(stream(twice_BL)[:, :-1]).argmax(-1) == twice_BL[:, 1:]
            found.setdefault(off, []).append(right_BL[:, n:].double().mean(1))
            if off == "nothing":
                found.setdefault("once", []).append(right_BL[:, : n - 1].double().mean(1))
    shares = {off: torch.cat(parts) for off, parts in found.items()}
    quarters = torch.tensor([0.25, 0.5, 0.75], dtype=torch.double)
    row: dict[str, object] = {"kind": name, "prompts": count, "tokens": n}
    for off, share_B in shares.items():
        quartiles = [round(share, 3) for share in share_B.quantile(quarters).tolist()]
        row[off] = {"quartiles": quartiles, "halved": int((share_B < shares["nothing"] / 2).sum())}
    return row


def _random_tokens(count: int, L: int = 12) -> Tensor:
    return twice(30, B=count, n=L)[:, :L]


def _random_words(count: int, L: int = 12) -> Tensor:
    words = sorted({word.strip(",.").lower() for n in (0, 1) for text in plain(n) for word in text.split()})
    draw = random.Random(30)
    return _beginnings([" ".join(draw.sample(words, L)) for _ in range(count)], L)


def _sentences(count: int, L: int = 12) -> Tensor:
    return _beginnings([text for n in (0, 1) for text in plain(n)], L)[:count]


def _beginnings(texts: Iterable[str], L: int) -> Tensor:
    """The first L tokens of each text that has so many, (texts, L)."""
    rows = [published()[1].encode(f" {text}")[:L] for text in texts]
    return torch.stack([row for row in rows if len(row) == L])


def sink(text: int, L: int = 160, W: int = 64) -> dict[str, float]:
    start = text // 2 * (L + 1)
    ids_BL = published()[1].encode(" ".join(plain(text % 2)))[None, start : start + L + 1]
    i = torch.arange(L + 1)
    every, early = i[:, None] >= i, i[:, None] < W
    window = every & (i[:, None] - i < W)
    masks = {"all": every, "window": window, "both": window | (every & (i == 0))}
    masks |= {"no_first": every & (early | (i != 0)), "no_sixth": every & (early | (i != 5))}
    row = {name: round(losses(ids_BL, mask=mask)[:, W:].mean().item(), 3) for name, mask in masks.items()}
    row["deleted"] = round(losses(ids_BL[:, 1:])[:, W - 1 :].mean().item(), 3)
    values: list[Tensor] = []
    hooks = [
        a.get_submodule("value").register_forward_hook(lambda layer, given, value: values.append(value))
        for a in attentions()
    ]
    maps = _maps_of(ids_BL)[:, 0, :, W:]
    for hook in hooks:
        hook.remove()
    length = torch.stack(values)[:, 0].unflatten(-1, (3, 64)).norm(dim=-1).mT.repeat_interleave(3, 1)
    brought = maps * length[:, :, None]
    row["weight"] = round(maps[..., 0].mean().item(), 3)
    row["share"] = round((brought[..., 0] / brought.sum(-1)).mean().item(), 3)
    row["length"] = round((length[..., 0] / length[..., 1:].mean(-1)).median().item(), 3)
    return row


def names(draw: int) -> dict[str, object]:
    model, pairs = published()
    firsts, totals, directs, looks, exchanged, repaired = [], [], [], [], {(20, 0): [], (23, 3): []}, []
    for template in range(4):
        told = gave_to(draw, template=template)
        ids_BL = torch.stack([pairs.encode(each.text) for each in told])
        right_B, giver_B = (torch.cat([pairs.encode(each[place]) for each in told]) for place in (1, 2))
        u_BD = model.tokens.embedding.weight[right_B] - model.tokens.embedding.weight[giver_B]
        last = stream(ids_BL)[:, -1]
        firsts.append((_scores_of(last).argmax(-1) == right_B).double())
        totals.append(torch.stack([((last - cut) * u_BD).sum(-1) for cut in cuts(ids_BL)]).unflatten(0, (-1, 9)))
        read_BD = _read_by(ids_BL, u_BD)
        directs.append(_direct(ids_BL, read_BD))
        maps = _maps_of(ids_BL)[:, :, :, -1]
        looks.append(torch.stack([(maps * (ids_BL == name[:, None])[:, None]).sum(-1) for name in (right_B, giver_B)]))
        for head, moved in exchanged.items():
            with changed([head], _from_the_other_order):
                moved.append(((stream(ids_BL)[:, -1] - last) * u_BD).sum(-1))
        with changed([(23, 0)], _without_at_last):
            repaired.append((_direct(ids_BL, read_BD) - directs[-1])[24, :, 4])
    total_NHB, direct_NBH = torch.cat(totals, -1), torch.cat(directs, 1)
    total, look = total_NHB.mean(-1), torch.cat(looks, 2).mean(2)[:, UPPER:]
    heads = [(23, 3), (20, 0), (24, 4), (23, 0)]
    moved = {f"{n}, {h}": torch.cat(by) for (n, h), by in exchanged.items()}
    return {
        "draw": draw,
        "texts": len(torch.cat(firsts)),
        "first": round(torch.cat(firsts).mean().item(), 3),
        "on_giver": {f"{n}, {h}": round(look[1, n - UPPER, h].item(), 3) for n, h in heads},
        "total": {f"{n}, {h}": round(total[n - UPPER, h].item(), 3) for n, h in heads},
        "direct": {f"{n}, {h}": round(direct_NBH[n, :, h].mean().item(), 3) for n, h in heads},
        "exchanged": {name: round(by.mean().item(), 3) for name, by in moved.items()},
        "turned": int((moved["20, 0"] < 0).sum()),
        "repair": round(torch.cat(repaired).mean().item(), 3),
        "repaired": int((torch.cat(repaired) > 0).sum()),
        "correlation": _rank_correlation(total, look[0]),
        "size_correlation": _rank_correlation(total.abs(), look.sum(0)),
        "turns": [round(kind[28 - UPPER, 1].mean().item(), 3) for kind in totals],
        "agree": [int((kind[28 - UPPER, 1] > 0).sum()) for kind in totals],
        "large": int((total.abs() > 0.1).sum()),
        "in_halves": _rank_correlation(*(total_NHB[..., k::2].mean(-1) for k in (0, 1))),
    }


def facts(template: int) -> dict[str, object]:
    model, pairs = published()
    ids_BL = torch.stack([pairs.encode(CAPITAL_OF[template].format(country)) for country in CAPITALS])
    city_B = torch.stack([pairs.encode(f" {city}")[0] for city in CAPITALS.values()])
    known = _scores_of(stream(ids_BL)[:, -1]).argmax(-1) == city_B
    ids_BL, city_B = ids_BL[known], city_B[known]
    other_B = city_B.roll(1)
    mask, after = causal(ids_BL.shape[1]), [0, 8, 16, 20, 22, 23, 24, 25, 26, 28]
    blocks = [model.decoder.get_submodule(str(n)) for n in range(len(model.decoder))]

    def followed(x_BLD: Tensor, n: int, place: int) -> float:
        x_BLD = x_BLD.clone()
        x_BLD[:, place] = x_BLD[:, place].roll(1, 0)
        for block in blocks[n:]:
            x_BLD = block(x_BLD, mask)
        best_B = _scores_of(model.decoder.norm(x_BLD[:, -1])).argmax(-1)
        return round((best_B == other_B).double().mean().item(), 3)

    (country,) = (ids_BL != ids_BL[0]).any(0).nonzero().flatten().tolist()
    row: dict[str, object] = {"template": template, "knows": len(city_B), "after": after}
    with torch.no_grad():
        streams = [model.tokens(ids_BL)]
        for block in blocks:
            streams.append(block(streams[-1], mask))
        for name, place in (("country", country), ("last", -1)):
            row[name] = [followed(streams[n], n, place) for n in after]
    u_BD, last_BD = (
        model.tokens.embedding.weight[city_B] - model.tokens.embedding.weight[other_B],
        stream(ids_BL)[:, -1],
    )
    costs = torch.stack([((last_BD - cut) * u_BD).sum(-1).mean() for cut in cuts(ids_BL)])
    best, head = costs.topk(2)
    row["head"] = [UPPER + head[0].item() // 9, head[0].item() % 9]
    row["costs"] = [round(cost, 2) for cost in best.tolist()]
    return row


def _read_by(ids_BL: Tensor, u_BD: Tensor) -> Tensor:
    """u at the last token, as it meets the stream before the last norm: with the norm's gain and scale."""
    norm, last = published()[0].decoder.norm, []
    hook = norm.register_forward_pre_hook(lambda layer, given: last.append(given[0][:, -1]))
    stream(ids_BL)
    hook.remove()
    return u_BD * norm.get_parameter("weight") * (last[0].square().mean(-1, keepdim=True) + 1e-5).rsqrt()


def _direct(ids_BL: Tensor, u_BD: Tensor) -> Tensor:
    """What each head itself adds to u at the last token: (blocks, B, heads)."""
    with capture_attention(published()[0], what="outputs") as outputs:
        stream(ids_BL)
    found = []
    for layer, y_BHLK in zip(attentions(), outputs.values(), strict=True):
        into_BHK = (u_BD @ layer.get_parameter("output.weight")).unflatten(-1, (9, 64))
        found.append((into_BHK * y_BHLK[:, :, -1]).sum(-1))
    return torch.stack(found)


def _without_at_last(y_BLD: Tensor, h: int) -> Tensor:
    y_BLD = y_BLD.clone()
    y_BLD[:, -1, 64 * h : 64 * (h + 1)] = 0
    return y_BLD


def _from_the_other_order(y_BLD: Tensor, h: int) -> Tensor:
    """At the last token, what the head found in the text of the same two people, named in the other order."""
    y_BLD, part = y_BLD.clone(), slice(64 * h, 64 * (h + 1))
    y_BLD[:, -1, part] = y_BLD[:, -1, part].unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
    return y_BLD


def cuts(ids_BL: Tensor) -> Iterator[Tensor]:
    """The last token's vector without each head of the upper half, at that token alone; what is before it runs once."""
    model, _ = published()
    blocks = [model.decoder.get_submodule(str(n)) for n in range(len(model.decoder))]
    caches, L = [KVCache() for _ in blocks], ids_BL.shape[1]

    def on(x: Tensor, first: int, last: int) -> Tensor:
        for block, cache in zip(blocks[first:last], caches[first:last], strict=True):
            x = block(x, causal(1, L), copy.copy(cache))
        return x

    with torch.no_grad():
        x = model.tokens(ids_BL[:, :-1])
        for block, cache in zip(blocks, caches, strict=True):
            x = block(x, causal(L - 1), cache)
        x = on(model.tokens(ids_BL[:, -1:]), 0, UPPER)
        for n in range(UPPER, len(blocks)):
            for h in range(9):
                with changed([(n, h)], without):
                    y = on(x, n, len(blocks))
                yield model.decoder.norm(y[:, -1])
            x = on(x, n, n + 1)
