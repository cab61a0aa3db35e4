"""The heads of a model side by side, from attention maps that were captured, and of what kind each head is."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.errors import ShapeError
from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

MOST_TOKENS = 512
KINDS = ("previous", "same", "first", "separator", "induction")
EXAMPLE = "the cat sat . the cat ran ."


class HeadBrowser(BookWidget):
    """Attention maps of one text, (layers, heads, L, M), or layer by layer: a list of (H, L, M), or what
    `capture_attention` gives. Layers and heads are counted from 0, as in the tensor.

    >>> import torch
    >>> tokens = ["the", "cat", "sat", "on", "the", "mat"]
    >>> maps = torch.ones(2, 4, 6, 6).tril()
    >>> HeadBrowser(tokens, maps / maps.sum(-1, keepdim=True))
    HeadBrowser()

    `queries` are the tokens of the rows, if they are not the tokens of the columns. The page gets the square roots of
    the weights in steps of 1/255, so weights are shown to within 0.004, and small ones closer. Without arguments: six
    heads drawn by rule, one of each kind and one that looks at all tokens before it alike.
    """

    tokens = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    queries = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    layers = traitlets.List(traitlets.Unicode(), minlen=1).tag(sync=True)
    heads = traitlets.Int(1, min=1).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    maps = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    token = traitlets.Int(0, min=0).tag(sync=True)
    kind = traitlets.Enum(["all", *KINDS], "all").tag(sync=True)

    def __init__(self, tokens: str | Sequence[str] = EXAMPLE, maps: Any = None, queries=None, **traits):
        tokens = tokens.split() if isinstance(tokens, str) else list(tokens)
        queries = tokens if queries is None else list(queries)
        if maps is None:
            maps = _drawn(tokens)
            traits = {"layer": 1, "head": 2, "token": max(len(tokens) - 3, 0)} | traits  # an induction head at work
        if not isinstance(maps, str):
            names, maps_NHLM = _stacked(maps)
            _check(maps_NHLM, tokens, queries)
            causal = _is_causal(maps_NHLM)
            traits |= {
                "layers": names,
                "heads": maps_NHLM.shape[1],
                "causal": causal,
                "maps": _packed(maps_NHLM, causal),
            }
        super().__init__(tokens=tokens, queries=queries, maps=traits.pop("maps", maps), **traits)
        for name, size in {"layer": len(self.layers), "head": self.heads, "token": len(queries)}.items():
            if getattr(self, name) >= size:
                raise ValueError(f"{name} is counted from 0 and must be below {size}, got {getattr(self, name)}.")

    def weights(self) -> Tensor:
        """The maps (layers, heads, L, M) as the widget shows them."""
        shape = (len(self.layers), self.heads, len(self.queries), len(self.tokens))
        steps = torch.tensor(list(b64decode(self.maps)), dtype=torch.float64)
        seen_LM = torch.ones(shape[2:], dtype=torch.bool)
        seen_LM = seen_LM.tril() if self.causal else seen_LM
        maps_NHLM = torch.zeros(shape, dtype=torch.float64)
        maps_NHLM[..., seen_LM] = (steps / 255).square().view(*shape[:2], -1)
        return maps_NHLM

    def table(self) -> str:
        say = self.edition_words()
        shares, places = self.weights()[self.layer, self.head].max(-1)
        rows = [
            (Verbatim(asks), [Verbatim(f"{self.tokens[place]} ({place})" if share else ""), number(share)])
            for asks, share, place in zip(self.queries, shares.tolist(), places.tolist(), strict=True)
        ]
        caption = say["here"].format(layer=self.layers[self.layer], head=self.head)
        return html_table(caption, [say["most"], say["weight"]], rows)


def kinds(maps: Tensor, tokens: Sequence[str]) -> dict[str, Tensor]:
    """How much of a head's attention goes where a head of each kind would look: of maps (..., L, L) shares (...).

    Only tokens count that have such a place to look at. `previous` is the token before; `same` each that reads alike,
    the token itself among them; `first` the first of all; `separator` each without a letter or digit, and special ones
    such as `<s>` or `[SEP]`; `induction` each that followed an earlier occurrence of the token.

    >>> maps = torch.tensor([[1.0, 0, 0, 0], [0.8, 0.2, 0, 0], [0.8, 0, 0.2, 0], [0, 0.5, 0, 0.5]])
    >>> {kind: round(share.item(), 2) for kind, share in kinds(maps, ["a", "b", ".", "a"]).items()}
    {'previous': 0.27, 'same': 0.48, 'first': 0.53, 'separator': 0.1, 'induction': 0.5}
    """
    L = len(tokens)
    if maps.shape[-2:] != (L, L):
        raise ShapeError("maps", "(..., L, L)", ("...", L, L), maps.shape, "A row and a column for each token.")
    seen_LL = torch.ones(L, L, dtype=torch.bool, device=maps.device)
    seen_LL = seen_LL.tril() if _is_causal(maps) else seen_LL
    shares = {}
    for kind, there_LL in _targets(tokens).items():
        there_LL = there_LL.to(maps.device) & seen_LL
        rows = there_LL.any(-1).sum().clamp(min=1)
        shares[kind] = (maps * there_LL).sum((-2, -1)) / rows
    return shares


def _targets(tokens: Sequence[str]) -> dict[str, Tensor]:
    """Where a head of each kind would look, (L, L)."""
    L = len(tokens)
    i, j = torch.arange(L)[:, None], torch.arange(L)
    ids = torch.tensor([tokens.index(token) for token in tokens])
    same = ids[:, None] == ids
    return {
        "previous": j == i - 1,
        "same": same,
        "first": (j == 0) & (i > 0),
        "separator": torch.tensor([_separates(token) for token in tokens]).expand(L, L),
        "induction": same.roll(1, -1) & (j > 0) & (j < i),
    }


def _separates(token: str) -> bool:
    bare = token.strip("Ġ▁Ċ \n\t")
    return not any(map(str.isalnum, bare)) or bare[0] + bare[-1] in ("<>", "[]")


def _drawn(tokens: Sequence[str]) -> Tensor:
    """Two layers of heads that do one thing each; with nothing to look at they rest on the first token."""
    L = len(tokens)
    seen_LL = torch.ones(L, L, dtype=torch.bool).tril()
    there = _targets(tokens) | {"even": seen_LL}
    order = ["previous", "same", "even", "first", "separator", "induction"]
    maps = torch.stack([there[kind] & seen_LL for kind in order]).double()
    maps[..., 0] += maps.sum(-1) == 0
    return (maps / maps.sum(-1, keepdim=True)).view(2, 3, L, L)


def _is_causal(maps: Tensor) -> bool:
    L, M = maps.shape[-2:]
    return L == M and not maps.triu(1).any()


def _packed(maps_NHLM: Tensor, causal: bool) -> str:
    steps = (maps_NHLM.clamp(0, 1).sqrt() * 255).round().to(torch.uint8)
    if causal:
        steps = steps[..., torch.ones(steps.shape[-2:], dtype=torch.bool).tril()]
    return b64encode(steps.numpy().tobytes()).decode()


def _stacked(maps: Any) -> tuple[list[str], Tensor]:
    """The layers' names, and all maps (layers, heads, L, M) as one tensor on the CPU."""
    captured = isinstance(maps, Mapping)
    if not captured and hasattr(maps, "ndim"):
        whole = torch.as_tensor(maps)
        if whole.ndim != 4:
            hint = "One layer of heads? Try maps[None]. A batch of texts? Choose one of them."
            raise ShapeError("maps", "(layers, heads, L, M)", ("layers", "heads", "L", "M"), whole.shape, hint)
        maps = list(whole)
    given = dict(maps if captured else {str(n): layer for n, layer in enumerate(maps)})
    if not given:
        raise ValueError("maps holds no layer. Was the model called inside `with capture_attention(model) as maps:`?")
    layers = {
        name: _one_text(f"maps[{name!r}]" if captured else f"maps[{name}]", x, captured) for name, x in given.items()
    }
    first, shape = next((name, layer.shape) for name, layer in layers.items())
    for name, layer in layers.items():
        if layer.shape != shape:
            hint = "Show layers of other shapes by themselves, such as {name: maps[name]}."
            raise ShapeError(f"maps[{name!r}]", f"that of maps[{first!r}]", tuple(shape), tuple(layer.shape), hint)
    return _short(list(layers)), torch.stack(list(layers.values()))


def _one_text(name: str, layer: Any, captured: bool) -> Tensor:
    """A layer's maps as (heads, L, M)."""
    layer = torch.as_tensor(layer).detach().cpu().double()
    batched = layer.ndim == 4 or (captured and layer.ndim == 3)
    if layer.ndim not in (3, 4) or (batched and len(layer) != 1):
        letters = "(1, heads, L, M) or (1, L, M)" if captured else "(heads, L, M) or (1, heads, L, M)"
        hint = (
            "These are maps of several texts: choose one, such as layer[:1]." if batched else "See capture_attention."
        )
        raise ShapeError(name, letters, ("1", "heads", "L", "M"), layer.shape, hint)
    return layer[0] if layer.ndim == 4 else layer


def _check(maps_NHLM: Tensor, tokens: Sequence[str], queries: Sequence[str]) -> None:
    """Raise unless these are weights of as many queries and keys as there are tokens."""
    *_, L, M = maps_NHLM.shape
    wanted = (len(queries), len(tokens))
    if wanted != (L, M):
        hint = "There is a row for each of the queries and a column for each of the tokens; special tokens count."
        if wanted[1] == M:
            hint = f"Are the rows other tokens than the columns? Give them, too: queries=[…], {L} of them."
        raise ShapeError("maps", "(..., L, M)", ("...", *wanted), maps_NHLM.shape, hint)
    sums = maps_NHLM.sum(-1)
    wrong = ~(((sums - 1).abs() < 0.02) | (sums.abs() < 0.02)) | (maps_NHLM < -1e-3).any(-1)
    if wrong.any():
        layer, head, row = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"each row of maps must hold weights that sum to 1, or to 0 with nothing to look at; row {row} of layer "
            f"{layer}, head {head} sums to {sums[layer, head, row]:.3g}, its least is "
            f"{maps_NHLM[layer, head, row].min():.3g}. Scores, before softmax? Try maps.softmax(-1)."
        )


def _short(names: list[str]) -> list[str]:
    """The names without the parts that all begin and end with.

    >>> _short(["encoder.0.self_attention", "encoder.1.self_attention"])
    ['0', '1']
    """
    parts = [name.split(".") for name in names]
    for end in (0, -1):
        while all(len(part) > 1 and part[end] == parts[0][end] for part in parts):
            for part in parts:
                part.pop(end)
    return [".".join(part) for part in parts]
