"""Make model_map.bin and model_map_vectors.bin: a published model, seen from inside while it reads one sentence.

    python -m booktools.make.model_map

SmolLM2-135M-Instruct is run by `attnbook.pretrained`: with all heads, without each head that ModelMap switches off from
what is stored, and without each of the 270, for the probability that is left to the likeliest word.

The first line of model_map.bin has the tokens, and the `words` that streams would say. Numbers follow. Of each picture:
how far each look of each head pushes the word that comes next with all heads on, in steps of 1/10,000 logits; each
block's network, in steps of 1/500; and how likely each token's stream would make its likeliest words after each block,
and that word, in steps of 1/10,000. Then, of each picture, the square roots of weights in steps of 1/255, and which
words the likeliest are. A picture without a head begins at its block: before, weights are those of the whole model, and
pushes are `scale` times its pushes, for the last norm sees another stream.

model_map_vectors.bin has the queries, keys and values of all blocks, as attention multiplies them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook import capture_attention, pretrained
from attnbook.data import FOLDER
from attnbook.data.stored import first_line, in_steps
from attnbook.learning.bytepairs import BytePairs
from attnbook.models.transformer import LanguageModel
from attnbook.widgets.model_map import BLOCKS, HEADS, LIKELIEST, OFF, TEXT, UNIT, K
from attnbook.widgets.shared.pairs import shown_token
from booktools.make.real_model import steps
from booktools.make.seeds.real_heads import Head, changed, without

LOOK, NETWORK, CHANCE = 1 / 10000, 1 / 500, 1 / 10000  # logits, logits, probabilities


class Reading(NamedTuple):
    """What is seen of the model while it reads L tokens; N counts blocks, G heads of keys and values."""

    maps_NHLL: Tensor
    streams_NLD: Tensor  # as each block finds them, and last as the last block leaves them
    queries_NHLK: Tensor
    keys_NGLK: Tensor
    values_NGLK: Tensor


def blocks(model: LanguageModel) -> list:
    return [getattr(model.decoder, str(n)) for n in range(BLOCKS)]


@torch.no_grad()
def read(model: LanguageModel, ids: Tensor, off: Iterable[Head] = ()) -> Reading:
    """What is seen while the model reads, without what some heads bring: they look, all the same."""
    streams, found, hooks = [], {"query": [], "key": [], "value": []}, []
    for block in blocks(model):
        hooks.append(block.register_forward_pre_hook(lambda _, given: streams.append(given[0][0])))
        for name, kept in found.items():
            layer = getattr(block.self_attention, name)
            hooks.append(layer.register_forward_hook(lambda _, __, made, kept=kept: kept.append(made[0])))
    hooks.append(model.decoder.norm.register_forward_pre_hook(lambda _, given: streams.append(given[0][0])))
    with capture_attention(model) as maps, changed(off, without, model):
        model(ids[None])
    for hook in hooks:
        hook.remove()
    q, k, v = (torch.stack(kept).unflatten(-1, (-1, K)).transpose(1, 2) for kept in found.values())
    turn = blocks(model)[0].self_attention.rotary
    return Reading(torch.cat([*maps.values()]), torch.stack(streams), turn(q), turn(k), v)


@torch.no_grad()
def scores(model: LanguageModel, streams_LD: Tensor) -> Tensor:
    """The scores of all words, (…, words), that streams would give if they ended as they are."""
    return model.tokens.scores(model.decoder.norm(streams_LD))


@torch.no_grad()
def ways(model: LanguageModel, last_LD: Tensor, words_L: Tensor) -> Tensor:
    """What one more of each of a stream's numbers adds to the score of its word above the mean of all words, (L, D).

    The last norm's scale is held still.
    """
    norm: Any = model.decoder.norm
    table = model.tokens.embedding.weight
    scale_L1 = (last_LD.square().mean(-1, keepdim=True) + norm.eps).rsqrt()
    return (table[words_L] - table.mean(0)) * norm.weight * scale_L1


@torch.no_grad()
def pushes(model: LanguageModel, seen: Reading, words_L: Tensor, off: Iterable[Head] = ()) -> tuple[Tensor, Tensor]:
    """How far looks (blocks, heads, L, L) and networks (blocks, L) push words, in logits.

    A head that is off has the push that it would have.
    """
    way_LD = ways(model, seen.streams_NLD[-1], words_L)
    out_NDHK = torch.stack([block.self_attention.output.weight.unflatten(-1, (HEADS, K)) for block in blocks(model)])
    back_NHLK = torch.einsum("ld,ndhk->nhlk", way_LD, out_NDHK)
    values_NHLK = seen.values_NGLK.repeat_interleave(HEADS // seen.values_NGLK.shape[1], 1)
    looks_NHLL = seen.maps_NHLL * (back_NHLK @ values_NHLK.mT)
    heads_NHL = looks_NHLL.sum(-1)
    for head in off:
        heads_NHL[head] = 0
    moved_NL = (seen.streams_NLD.diff(dim=0) * way_LD).sum(-1)
    return looks_NHLL, moved_NL - heads_NHL.sum(1)


def make(model: LanguageModel, pairs: BytePairs) -> dict[str, bytes]:
    """Each file's name and content."""
    ids, known = pairs.encode(TEXT), pretrained.KNOWN["smollm2"]
    whole = read(model, ids)
    words_L = scores(model, whole.streams_NLD[-1]).argmax(-1)
    named = [shown_token(token) for token in pairs.tokens]
    about: dict[str, Any] = {
        "model": known.sha256[:16],
        "size": known.path.stat().st_size,
        "text": TEXT,
        "blocks": BLOCKS,
    }
    about |= {"heads": HEADS, "tokens": [named[token] for token in ids], "left": left(model, ids, words_L[-1])}
    seen = {None: whole} | {off: read(model, ids, [off]) for off in OFF}
    says = [said(model, each, words_L, off) for off, each in seen.items()]
    words_W = torch.cat([likeliest.flatten() for likeliest, _ in says]).unique()
    pictures = [picture(model, each, whole, words_L, off) for off, each in seen.items()]
    about |= {"words": [named[word] for word in words_W], "pictures": [head for head, _, _ in pictures]}
    numbers = b"".join(
        pushed + in_steps(chances, CHANCE) for (_, pushed, _), (_, chances) in zip(pictures, says, strict=True)
    )
    numbers += b"".join(
        maps + torch.searchsorted(words_W, likeliest).to(torch.uint8).numpy().tobytes()
        for (_, _, maps), (likeliest, _) in zip(pictures, says, strict=True)
    )
    return {"model_map.bin": first_line(about) + numbers, "model_map_vectors.bin": vectors(whole)}


@torch.no_grad()
def left(model: LanguageModel, ids: Tensor, word: Tensor) -> list[float]:
    """The probability that is left to a word, by the head that is switched off: those of a block as one batch."""
    found = []
    for n in range(BLOCKS):
        with changed([(n, h) for h in range(HEADS)], _without_in_its_row, model):
            chances_H = model(ids.expand(HEADS, -1))[:, -1].softmax(-1)[:, word]
        found += [round(chance, 4) for chance in chances_H.tolist()]
    return found


def _without_in_its_row(y_HLD: Tensor, h: int) -> Tensor:
    y_HLD = y_HLD.clone()
    y_HLD[h] = without(y_HLD[h], h)
    return y_HLD


@torch.no_grad()
def said(model: LanguageModel, seen: Reading, words_L: Tensor, off: Head | None) -> tuple[Tensor, Tensor]:
    """The likeliest words of each stream after each block from that of the head that is off on, (blocks, L, 6).

    And their probabilities, with that of `words_L` last: (L, blocks, 7).
    """
    chances_LNW = scores(model, seen.streams_NLD[(off[0] if off else 0) + 1 :]).softmax(-1).transpose(0, 1)
    best = chances_LNW.topk(LIKELIEST)
    final_LN = torch.stack([chances_NW[:, word] for chances_NW, word in zip(chances_LNW, words_L, strict=True)])
    return best.indices, torch.cat([best.values, final_LN[..., None]], -1)


def picture(
    model: LanguageModel, seen: Reading, whole: Reading, words_L: Tensor, off: Head | None
) -> tuple[dict, bytes, bytes]:
    """What is to be known of a reading; its pushes, and its maps."""
    first = off[0] if off else 0
    looks_NHLL, networks_NL = pushes(model, seen, words_L, [off] if off else [])
    pushed = in_steps(rows(looks_NHLL[first:]), LOOK) + in_steps(networks_NL[first:], NETWORK)
    sizes_L, sizes_of_whole_L = (each.streams_NLD[-1].square().mean(-1).sqrt() for each in (seen, whole))
    scale = [round(ratio, 5) for ratio in (sizes_of_whole_L / sizes_L).tolist()]
    head = {"off": off and off[0] * HEADS + off[1], "first": first, "scale": scale}
    return head, pushed, steps(seen.maps_NHLL[first:])


def rows(numbers_NHLL: Tensor) -> Tensor:
    """Numbers of a causal map, row after row of all heads, as far as each sees."""
    return torch.cat([numbers_NHLL[:, :, i, : i + 1].flatten() for i in range(numbers_NHLL.shape[-1])])


def vectors(seen: Reading) -> bytes:
    """A file as data/stored.py writes it."""
    shapes, numbers = {}, []
    for n in range(BLOCKS):
        parts = {"query": seen.queries_NHLK[n], "key": seen.keys_NGLK[n], "value": seen.values_NGLK[n]}
        shapes[n] = {name: list(x.transpose(0, 1).flatten(1).shape) for name, x in parts.items()}
        numbers += [x.transpose(0, 1).flatten() for x in parts.values()]
    return first_line({"unit": UNIT, "shapes": shapes}) + in_steps(torch.cat(numbers), UNIT)


if __name__ == "__main__":
    for name, content in make(*pretrained.load()).items():
        (FOLDER / name).write_bytes(content)
