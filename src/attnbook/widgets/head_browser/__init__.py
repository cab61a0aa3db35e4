"""The heads of a model side by side, from attention maps that were captured, and of what kind each head is."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import compress, decompress

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from attnbook._inputs import kind_of, weights_of
from attnbook.errors import ShapeError
from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

MOST_TOKENS, MOST_WEIGHTS = 1024, 2**26
ZIPPED, FINE = 2**14, 2**20  # more weights are zipped; of still more, small ones are kept coarser
KINDS = ("previous", "same", "first", "separator", "induction")
EXAMPLE = "the cat sat . the cat ran ."
Kind = Tensor | Callable[[Tensor], Tensor]


class HeadBrowser(BookWidget):
    """Attention maps of one text: (layers, heads, L, M), one layer's (H, L, M) or one head's (L, M), as a tensor, an
    array or lists; or what `capture_attention` gives. Layers and heads are counted from 0, as in the tensor.

    >>> import torch
    >>> tokens = ["the", "cat", "sat", "on", "the", "mat"]
    >>> maps = torch.ones(2, 4, 6, 6).tril()
    >>> HeadBrowser(tokens, maps / maps.sum(-1, keepdim=True))
    HeadBrowser()

    queries  the tokens of the rows, if they are not the tokens of the columns
    kinds    kinds of heads of your own, by name: where such a head would look, a mask (L, M); or a function of the maps
             (layers, heads, L, M) that gives a number from 0 to 1 for each head, (layers, heads)
    other    tokens and maps of a second text, to compare: `HeadBrowser(tokens, maps, other=(tokens_2, maps_2))`

    view     "map" shows one head, "strands" all layers at once: a line for each token, and strands to it from the
             tokens that it looks at

    A text of more than 20 tokens has a part of the map close up, with the tokens' names: where the mouse points, or
    where the chosen token looks most. The page gets the square roots of the weights in steps of 1/255, so weights are
    shown to within 0.004; of each kind the share in each head, `shares`, in steps of 0.001. Without arguments: six
    heads drawn by rule, one of each kind and one that looks at all tokens before it alike.
    """

    tokens = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    queries = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    layers = traitlets.List(traitlets.Unicode(), minlen=1).tag(sync=True)
    heads = traitlets.Int(1, min=1).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    maps = traitlets.Unicode().tag(sync=True)
    other_tokens = traitlets.List(traitlets.Unicode(), maxlen=MOST_TOKENS).tag(sync=True)
    other_maps = traitlets.Unicode().tag(sync=True)
    shares = traitlets.Dict().tag(sync=True)  # by kind, of each head
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    token = traitlets.Int(0, min=0).tag(sync=True)
    kind = traitlets.Unicode("all").tag(sync=True)
    view = traitlets.Enum(["map", "strands"], "map").tag(sync=True)

    def __init__(
        self,
        tokens: str | Sequence[str] = EXAMPLE,
        maps: Any = None,
        queries: str | Sequence[str] | None = None,
        *,
        kinds: Mapping[str, Kind] | None = None,
        other: tuple[str | Sequence[str], Any] | None = None,
        **traits,
    ):
        tokens = _listed("tokens", tokens)
        queries = tokens if queries is None else _listed("queries", queries)
        if maps is None:
            maps = _drawn(tokens)
            traits = {"layer": 1, "head": 2, "token": max(len(tokens) - 3, 0)} | traits  # an induction head at work
        if not isinstance(maps, str):
            traits = _traits_of(tokens, maps, queries, kinds or {}, other) | traits
            maps = traits.pop("maps")
        super().__init__(tokens=tokens, queries=queries, maps=maps, **traits)
        rows = max(len(queries), len(self.other_tokens))
        for name, size in {"layer": len(self.layers), "head": self.heads, "token": rows}.items():
            if getattr(self, name) >= size:
                raise ValueError(f"{name} is counted from 0 and must be below {size}, got {getattr(self, name)}.")

    @traitlets.validate("kind")
    def _known_kind(self, proposal) -> str:
        known = ["all", *self.shares]
        if proposal.value not in known:
            raise traitlets.TraitError(f"The 'kind' trait must be any of {known}, got {proposal.value!r}.")
        return proposal.value

    @traitlets.validate("view")
    def _of_one_text(self, proposal) -> str:
        if proposal.value == "strands" and self.queries != self.tokens:
            raise ValueError("view='strands' needs tokens that look at tokens of their own text; leave out queries.")
        return proposal.value

    def weights(self) -> Tensor:
        """The maps (layers, heads, L, M) as the widget shows them."""
        return self._unpacked(self.maps, (len(self.queries), len(self.tokens)))

    def other_weights(self) -> Tensor:
        """Those of the other text."""
        return self._unpacked(self.other_maps, (len(self.other_tokens), len(self.other_tokens)))

    def strands(self, maps: Tensor) -> Tensor:
        """Of maps (layers, H, L, L) how bright strands are, (layers, L, L): as the brightest lit head of the layer.

        Most heads rest on the first token. Unless heads of that kind are lit, there is no strand from it.
        """
        light = torch.tensor(self.shares.get(self.kind, 1.0), dtype=maps.dtype).expand(len(self.layers) * self.heads)
        if self.kind == "different" and light.any():
            light = light / light.max()
        light_NLM = (maps * light.view(*maps.shape[:2], 1, 1)).amax(1)
        if self.kind != "first" and maps.shape[-1] > 1:
            light_NLM[..., 0] = 0
        return light_NLM

    def save(self, path: str | Path) -> Path:
        """A file to keep or to send: NAME.html is the widget itself, which needs no Python and no network; NAME.png and
        NAME.svg are a figure of all heads and the chosen one, or of all layers where these are shown."""
        path = Path(path)
        if path.suffix == ".html":
            return super().save(path)
        if path.suffix not in (".png", ".svg"):
            raise ValueError(f"path must end in .html, .png or .svg, got {str(path)!r}.")
        from attnbook.widgets.head_browser.figure import save

        save(self, path)
        return path

    def _unpacked(self, maps: str, sizes: tuple[int, int]) -> Tensor:
        shape = (len(self.layers), self.heads, *sizes)
        steps = torch.frombuffer(bytearray(decompress(b64decode(maps))), dtype=torch.uint8).double()
        seen_LM = torch.ones(sizes, dtype=torch.bool)
        seen_LM = seen_LM.tril() if self.causal else seen_LM
        maps_NHLM = torch.zeros(shape, dtype=torch.float64)
        maps_NHLM[..., seen_LM] = (steps / 255).square().view(*shape[:2], -1)
        return maps_NHLM

    def table(self) -> str:
        say = self.edition_words()
        texts = [(self.queries, self.tokens, self.weights())]
        texts += [(self.other_tokens, self.other_tokens, self.other_weights())] if self.other_tokens else []
        caption = say["here"].format(layer=self.layers[self.layer], head=self.head)
        rows = [
            (Verbatim(asks), [Verbatim(f"{tokens[place]} ({place})" if share else ""), number(share)])
            for queries, tokens, maps_NHLM in texts
            for asks, share, place in zip(queries, *_strongest(maps_NHLM[self.layer, self.head]), strict=True)
        ]
        if len(texts) > 1:
            rows.insert(len(self.queries), (say["other"], ["", ""]))
        return html_table(caption, [say["most"], say["weight"]], rows)


def kinds(maps: Tensor, tokens: Sequence[str]) -> dict[str, Tensor]:
    """How much of a head's attention goes where a head of each kind would look: of maps (..., L, L) shares (...).

    Only tokens that have such a position count. `previous` is the token before; `same` each that reads alike,
    the token itself among them; `first` the first of all; `separator` each without a letter or digit, and special ones
    such as `<s>` or `[SEP]`; `induction` each that followed an earlier occurrence of the token.

    >>> maps = torch.tensor([[1.0, 0, 0, 0], [0.8, 0.2, 0, 0], [0.8, 0, 0.2, 0], [0, 0.5, 0, 0.5]])
    >>> {kind: round(share.item(), 2) for kind, share in kinds(maps, ["a", "b", ".", "a"]).items()}
    {'previous': 0.27, 'same': 0.48, 'first': 0.53, 'separator': 0.1, 'induction': 0.5}
    """
    L = len(tokens)
    if maps.shape[-2:] != (L, L):
        raise ShapeError("maps", "(..., L, L)", ("...", L, L), maps.shape, "A row and a column for each token.")
    return {kind: _share(maps, there_LL) for kind, there_LL in _targets(tokens).items()}


def differences(maps: Tensor, other: Tensor) -> Tensor:
    """How differently heads read two texts, of maps (..., L, L) and (..., M, M): the share of a token's attention that
    is elsewhere in the other text, position by position, from 0 to 1; the mean over the positions that both texts have.

    >>> differences(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[1.0, 0.0], [0.9, 0.1]]))
    tensor(0.2000)
    """
    L, M = maps.shape[-1], other.shape[-1]
    least, most = min(L, M), max(L, M)
    first, second = (F.pad(x[..., :least, :], (0, most - x.shape[-1])) for x in (maps, other))
    return (first - second).abs().sum(-1).mean(-1) / 2


def _share(maps: Tensor, there_LM: Tensor) -> Tensor:
    """The share of the attention that goes there, the mean over the rows that have such a position to look at."""
    there_LM = there_LM.to(maps.device)
    if _is_causal(maps):
        there_LM = there_LM.tril()
    return (maps * there_LM).sum((-2, -1)) / there_LM.any(-1).sum().clamp(min=1)


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


def _strongest(map_LM: Tensor) -> tuple[list[float], list[int]]:
    shares, places = map_LM.max(-1)
    return shares.tolist(), places.tolist()


def _drawn(tokens: Sequence[str]) -> Tensor:
    """Two layers of heads that do one thing each; with nothing to look at they rest on the first token."""
    L = len(tokens)
    seen_LL = torch.ones(L, L, dtype=torch.bool).tril()
    there = _targets(tokens) | {"even": seen_LL}
    order = ["previous", "same", "even", "first", "separator", "induction"]
    maps = torch.stack([there[kind] & seen_LL for kind in order]).double()
    maps[..., 0] += maps.sum(-1) == 0
    return (maps / maps.sum(-1, keepdim=True)).view(2, 3, L, L)


def _listed(name: str, tokens: str | Sequence[str]) -> list[str]:
    """What stands beside rows or columns: words of a text, or a list."""
    listed = tokens.split() if isinstance(tokens, str) else list(tokens)
    if not all(isinstance(token, str) for token in listed):
        whole = not tokens.is_floating_point() if isinstance(tokens, Tensor) else isinstance(listed[0], int)
        hint = "Token ids? Give the text of each." if whole else "It is called HeadBrowser(tokens, maps)."
        raise ValueError(f"{name} must be texts, got {kind_of(tokens)}. {hint}")
    if len(listed) > MOST_TOKENS:
        raise ValueError(
            f"HeadBrowser shows up to {MOST_TOKENS:,} {name}, got {len(listed):,}. Cut them, and the maps."
        )
    return listed


def _traits_of(tokens, maps, queries, own_kinds, other) -> dict[str, Any]:
    """What the page gets of maps, of kinds of one's own and of another text."""
    names, maps_NHLM = _stacked(maps)
    _check(maps_NHLM, tokens, queries)
    traits: dict[str, Any] = {"layers": names, "heads": maps_NHLM.shape[1], "causal": _is_causal(maps_NHLM)}
    shares = kinds(maps_NHLM, tokens) if queries == tokens else {}
    for name, kind in own_kinds.items():
        if name in ("all", "different", *KINDS):
            raise ValueError(f"there is a kind called {name!r} already; call yours by another name.")
        shares[name] = _of_own_kind(name, kind, maps_NHLM)
    if other is not None:
        there, others = _listed("tokens", other[0]), _stacked(other[1])[1]
        _check(others, there, there)
        if queries != tokens or others.shape[:2] != maps_NHLM.shape[:2]:
            raise ShapeError(
                "the maps of the other text",
                "(layers, heads, M, M)",
                (*maps_NHLM.shape[:2], "M", "M"),
                others.shape,
                "Two texts are compared head by head, in one model, where tokens look at tokens of their own text.",
            )
        shares["different"] = differences(maps_NHLM, others)
        traits["causal"] = traits["causal"] and _is_causal(others)
        traits |= {"other_tokens": there, "other_maps": _packed(others, traits["causal"]), "kind": "different"}
    traits["maps"] = _packed(maps_NHLM, traits["causal"])
    traits["shares"] = {name: _rounded(of) for name, of in shares.items()}
    return traits


def _of_own_kind(name: str, kind: Kind, maps_NHLM: Tensor) -> Tensor:
    if callable(kind):
        given, wanted, letters = torch.as_tensor(kind(maps_NHLM)), maps_NHLM.shape[:2], "(layers, heads)"
        hint = "A function makes of the maps a number for each head."
    else:
        given, wanted, letters = torch.as_tensor(kind), maps_NHLM.shape[2:], "(L, M)"
        hint = "A mask says where a head of this kind would look: rows look, columns are looked at."
    if given.shape != wanted:
        raise ShapeError(f"kinds[{name!r}]", letters, tuple(wanted), tuple(given.shape), hint)
    shares = given if callable(kind) else _share(maps_NHLM, given.bool())
    if not ((shares > -1e-3) & (shares < 1.001)).all():
        raise ValueError(
            f"kinds[{name!r}] must be from 0 to 1 for each head, got {shares.min():.3g} to {shares.max():.3g}."
        )
    return shares


def _rounded(shares: Tensor) -> list[float]:
    return [round(share, 3) for share in shares.double().clamp(0, 1).flatten().tolist()]


def _is_causal(maps: Tensor) -> bool:
    L, M = maps.shape[-2:]
    return L == M and not maps.triu(1).any()


def _packed(maps_NHLM: Tensor, causal: bool) -> str:
    steps = (maps_NHLM.clamp(0, 1).sqrt() * 255).round().to(torch.uint8)
    if causal:
        steps = steps[..., torch.ones(steps.shape[-2:], dtype=torch.bool).tril()]
    if steps.numel() > FINE:
        steps = torch.where(steps < 36, (steps / 7).round().to(torch.uint8) * 7, steps)  # to zip well, to within 0.004
    level = 6 if steps.numel() > ZIPPED else 0  # a short page is the same whichever zlib made it
    return b64encode(compress(steps.numpy().tobytes(), level)).decode()


def _stacked(maps: Any) -> tuple[list[str], Tensor]:
    """The layers' names, and all maps (layers, heads, L, M) as one tensor on the CPU."""
    captured = isinstance(maps, Mapping)
    if captured:
        given = dict(maps)
    else:
        layered = isinstance(maps, list | tuple) and all(getattr(layer, "ndim", 0) > 2 for layer in maps)
        given = {str(n): layer for n, layer in enumerate(maps if layered else _whole(maps))}
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


def _whole(maps: Any) -> Tensor:
    """Maps in one piece, with the axes of layers and heads that they lack."""
    maps = weights_of("maps", maps)
    if maps.ndim not in (2, 3, 4):
        letters = "(L, M), (H, L, M) or (layers, heads, L, M)"
        hint = "A batch of texts? Choose one, maps[0]." if maps.ndim else "See capture_attention."
        hint = "One query's weights? Try maps[None], with queries=[…]." if maps.ndim == 1 else hint
        raise ShapeError("maps", letters, (), maps.shape, hint)
    return maps[(None,) * (4 - maps.ndim)]


def _one_text(name: str, layer: Any, captured: bool) -> Tensor:
    """Returns the maps of one layer, checked to come from a single text, as (heads, L, M)."""
    layer = weights_of(name, layer)
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
    if maps_NHLM.numel() > MOST_WEIGHTS:
        raise ValueError(
            f"HeadBrowser shows up to {MOST_WEIGHTS:,} weights, got {maps_NHLM.numel():,}. Look at some "
            "layers: capture_attention(model, layers=[0, 1])."
        )
    sums = maps_NHLM.sum(-1)
    wrong = ((sums - 1).abs() >= 0.02) & (sums >= 0.02)
    if wrong.any():
        layer, head, row = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"each row of maps must hold weights that sum to 1, or to 0 with nothing to look at; row {row} of layer "
            f"{layer}, head {head} sums to {sums[layer, head, row]:.3g}. Weights without their normalisation? Try "
            "maps / maps.sum(-1, keepdim=True)."
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
