"""Scaled dot-product attention among a few words, step by step."""

import math
from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from attnbook._inputs import weights_of
from attnbook.data import word_vectors
from attnbook.errors import ShapeError
from attnbook.language import number
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import causal, padding
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table, painted

MOST_TOKENS = 10  # to compute with
MOST_SHOWN = 64  # of weights that are given
COMPUTES = {"mask": "none", "scale": "sqrt", "temperature": 1.0, "stage": "weights"}  # options, as they are at first
FIRST_TOKENS = ["the", "river", "bank", "by", "the", "water"]


class Weights(traitlets.List):
    """Weights as a tensor, an array or lists; kept as lists (H, L, M), to four decimals."""

    def validate(self, obj, value) -> list:
        if isinstance(value, list | tuple) and not value:
            return []
        weights = weights_of("weights", value)
        if weights.ndim not in (1, 2, 3):
            one = ["0"] * (weights.ndim - 3)
            hint = "See capture_attention."
            if one:
                heads, head = (f"weights[{', '.join(one + more)}]" for more in ([], ["0"]))
                hint = f"Take the heads of one text, {heads}, or one head of it, {head}."
            raise ShapeError("weights", "(M,), (L, M) or (H, L, M)", (), weights.shape, hint)
        weights_HLM = weights[(None,) * (3 - weights.ndim)].double().clamp(0, 1)
        return [[[round(w, 4) for w in row] for row in head] for head in weights_HLM.tolist()]


class AttentionHeatmap(BookWidget):
    """Tokens × tokens, from scores to output; the reader edits tokens, mask, scale and temperature.

    >>> AttentionHeatmap("the river bank", mask="causal")
    AttentionHeatmap()

    A token's query, key and value are all its word vector, unless they are given as lists of short numbers.

    Or weights of your own, from anywhere: a tensor, an array or lists of (M,), (L, M) or (H, L, M), and the tokens.

    >>> AttentionHeatmap("the river bank", weights=[[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
    AttentionHeatmap()

    queries  the tokens of the rows, if they are not the tokens of the columns
    """

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    q_LK = traitlets.List().tag(sync=True)
    k_LK = traitlets.List().tag(sync=True)
    v_LV = traitlets.List().tag(sync=True)
    weights = Weights().tag(sync=True)
    queries = traitlets.List(traitlets.Unicode()).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    mask = traitlets.Enum(["none", "padding", "causal", "paint"], "none").tag(sync=True)
    length = traitlets.Int(2, min=0).tag(sync=True)
    blocked = traitlets.List().tag(sync=True)
    scale = traitlets.Enum(["none", "sqrt", "d"], "sqrt").tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.01).tag(sync=True)
    query = traitlets.Int(0, min=0).tag(sync=True)
    stage = traitlets.Enum(["scores", "scaled", "masked", "weights"], "weights").tag(sync=True)
    vocabulary = Asset("words.bin", first=True)

    def __init__(
        self,
        tokens: str | Sequence[str] = "bank by the river",
        q_LK=(),
        k_LK=(),
        v_LV=(),
        *,
        weights=(),
        queries: str | Sequence[str] = (),
        **traits,
    ):
        tokens, queries = (names.split() if isinstance(names, str) else list(names) for names in (tokens, queries))
        q_LK, k_LK, v_LV = (_numbers(*given) for given in (("q_LK", q_LK), ("k_LK", k_LK), ("v_LV", v_LV)))
        weights = Weights().validate(self, weights)
        if weights and not queries and len(weights[0]) == 1 < len(tokens):
            queries = ["query"]  # (M,) has no name of its own
        vectors = dict(zip(("q_LK", "k_LK", "v_LV"), (q_LK, k_LK, v_LV), strict=True))
        self._shows = bool(weights)
        super().__init__(tokens=tokens, **vectors, weights=weights, queries=queries, **traits)

    @traitlets.validate("tokens", "q_LK", "k_LK", "v_LV", "weights", "queries", "head", *COMPUTES)
    def _fitting(self, proposal):
        """What was set, if all fits together; what a constructor sets is looked at when all of it is there."""
        now = {name: getattr(self, name) for name in self.inputs()} | {proposal.trait.name: proposal.value}
        if bool(now["weights"]) != self._shows:
            raise ValueError("weights come with the widget: make another, AttentionHeatmap(tokens, weights=…).")
        if self._shows:
            _check_shown(**now)
        else:
            _check_computed(**now)
        return proposal.value

    def attend(self) -> tuple[Tensor, Tensor]:
        """The output and the weights that the widget shows, by the book's own `attention`."""
        if self.weights:
            raise ValueError("there is nothing to compute: the weights were given, and values were not.")
        q_LK, k_LK, v_LV = self._vectors()
        width = q_LK.shape[-1]
        sharpness = {"none": width**0.5, "sqrt": 1.0, "d": width**-0.5}[self.scale] / self.temperature
        return attention(q_LK * sharpness, k_LK, v_LV, self.mask_LL())

    def mask_LL(self) -> Tensor:
        """True where the row's token may look at the column's."""
        L = len(self.tokens)
        mask = torch.ones(L, L, dtype=torch.bool)
        if self.mask == "causal":
            mask = causal(L)
        elif self.mask == "padding":
            mask &= padding(torch.tensor([min(self.length, L)]), L)[0]
        elif self.mask == "paint":
            mask = ~painted(self.blocked, L, L)
        return mask

    def table(self) -> str:
        weights = self.weights[self.head] if self.weights else self.attend()[1].tolist()
        queries, tokens = (list(map(Verbatim, names)) for names in (self.queries or self.tokens, self.tokens))
        rows = ((token, map(number, row)) for token, row in zip(queries, weights, strict=True))
        return html_table(self.edition_words()["table"], tokens, rows)

    def _vectors(self) -> tuple[Tensor, ...]:
        if self.q_LK:
            return tuple(torch.tensor(rows, dtype=torch.float64) for rows in (self.q_LK, self.k_LK, self.v_LV))
        known = word_vectors()
        nothing = torch.zeros(len(known["the"]))
        rows = torch.stack([known.get(token.lower(), nothing) for token in self.tokens]).double()
        return rows, rows, rows


def _check_shown(tokens, weights, queries, head, **traits) -> None:
    """Raises unless `weights` fit tokens, queries and head, are few enough, and no trait computes them."""
    H, L, M = len(weights), len(weights[0]), len(weights[0][0])
    rows = queries or tokens
    if (len(rows), len(tokens)) != (L, M):
        hint = "There is a column for each of the tokens and a row for each of the queries; special tokens count."
        if len(tokens) == M:
            hint = f"Are the rows other tokens than the columns? Give them, too: queries=[…], {L} of them."
        raise ShapeError("weights", "(..., L, M)", ("...", len(rows), len(tokens)), (H, L, M)[H == 1 :], hint)
    if max(L, M) > MOST_SHOWN:
        raise ValueError(
            f"AttentionHeatmap shows weights of up to {MOST_SHOWN} tokens, got {max(L, M)}. "
            "HeadBrowser(tokens, weights) shows up to 1,024."
        )
    if head >= H:
        raise ValueError(f"head is counted from 0 and must be below {H}, got {head}.")
    if asked := [name for name, default in COMPUTES.items() if traits[name] != default] + [
        name for name in ("q_LK", "k_LK", "v_LV") if traits[name]
    ]:
        raise ValueError(f"leave out {', '.join(asked)}: weights that are given are shown as they are.")


def _check_computed(tokens, q_LK, k_LK, v_LV, queries, **_) -> None:
    """Raise unless these are a few tokens, with as many vectors if there are any."""
    if not 1 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(
            f"AttentionHeatmap computes with 1 to {MOST_TOKENS} tokens, got {len(tokens)}. Weights of your own, of up "
            f"to {MOST_SHOWN} tokens, are shown by AttentionHeatmap(tokens, weights=…), of up to 1,024 by "
            "HeadBrowser(tokens, weights)."
        )
    rows = [len(matrix) for matrix in (q_LK, k_LK, v_LV)]
    if rows not in ([0] * 3, [len(tokens)] * 3):
        raise ValueError(
            f"q_LK, k_LK and v_LV come together, one row for each of the {len(tokens)} tokens; got {rows} rows. "
            "Leave all three out to use word vectors; for other tokens make another AttentionHeatmap."
        )
    widths = [{len(row) for row in matrix} for matrix in (q_LK, k_LK, v_LV)]
    if len(widths[0] | widths[1]) > 1 or len(widths[2]) > 1:
        raise ValueError(f"rows of q_LK and k_LK share one width, and rows of v_LV another; got widths {widths}.")
    if queries:
        raise ValueError("queries are names of the rows of weights=…, which are missing.")


def _numbers(name: str, rows: Sequence) -> list[list[float]]:
    """A matrix as lists: of a tensor, an array or lists."""
    matrix = rows.tolist() if hasattr(rows, "tolist") else [list(row) for row in rows]
    if any(not isinstance(row, list) or not all(map(math.isfinite, row)) for row in matrix):
        raise ValueError(f"{name} must hold rows of finite numbers, such as [[1.0, 0.5], [0.0, 2.0]]; got {matrix}.")
    return matrix
