"""Scaled dot-product attention among a few words, step by step."""

import math
from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from attnbook.data import word_vectors
from attnbook.language import number
from attnbook.layers.dot_product import attention
from attnbook.layers.masks import causal, padding
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.tables import Verbatim, html_table, painted

MOST_TOKENS = 10
FIRST_TOKENS = ["the", "river", "bank", "by", "the", "water"]


class AttentionHeatmap(BookWidget):
    """Tokens × tokens, from scores to output; the reader edits tokens, mask, scale and temperature.

    >>> AttentionHeatmap("the river bank", mask="causal")
    AttentionHeatmap()

    A token's query, key and value are all its word vector, unless they are given as lists of short numbers.
    """

    tokens = traitlets.List(traitlets.Unicode(), minlen=1, maxlen=MOST_TOKENS).tag(sync=True)
    q_LK = traitlets.List().tag(sync=True)
    k_LK = traitlets.List().tag(sync=True)
    v_LV = traitlets.List().tag(sync=True)
    mask = traitlets.Enum(["none", "padding", "causal", "paint"], "none").tag(sync=True)
    length = traitlets.Int(2, min=0).tag(sync=True)
    blocked = traitlets.List().tag(sync=True)
    scale = traitlets.Enum(["none", "sqrt", "d"], "sqrt").tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.01).tag(sync=True)
    query = traitlets.Int(0, min=0).tag(sync=True)
    stage = traitlets.Enum(["scores", "scaled", "masked", "weights"], "weights").tag(sync=True)
    vocabulary = Asset("words.bin", first=True)

    def __init__(self, tokens: str | Sequence[str] = "the river bank", q_LK=(), k_LK=(), v_LV=(), **traits):
        tokens = tokens.split() if isinstance(tokens, str) else list(tokens)
        if len(tokens) > MOST_TOKENS:
            raise ValueError(
                f"AttentionHeatmap computes with up to {MOST_TOKENS} tokens, got {len(tokens)}. To look at weights of "
                "your own, of up to 512 tokens, try HeadBrowser(tokens, maps)."
            )
        q_LK, k_LK, v_LV = (_numbers(*given) for given in (("q_LK", q_LK), ("k_LK", k_LK), ("v_LV", v_LV)))
        rows = [len(matrix) for matrix in (q_LK, k_LK, v_LV)]
        if rows not in ([0] * 3, [len(tokens)] * 3):
            raise ValueError(
                f"q_LK, k_LK and v_LV come together, one row for each of the {len(tokens)} tokens; got {rows} rows. "
                "Leave all three out to use word vectors."
            )
        widths = [{len(row) for row in matrix} for matrix in (q_LK, k_LK, v_LV)]
        if len(widths[0] | widths[1]) > 1 or len(widths[2]) > 1:
            raise ValueError(f"rows of q_LK and k_LK share one width, and rows of v_LV another; got widths {widths}.")
        super().__init__(tokens=tokens, q_LK=q_LK, k_LK=k_LK, v_LV=v_LV, **traits)

    @traitlets.validate("tokens")
    def _tokens_and_vectors(self, proposal) -> list[str]:
        if self.q_LK and len(proposal.value) != len(self.q_LK):
            raise ValueError(
                f"there are vectors of {len(self.q_LK)} tokens, got {len(proposal.value)} tokens. Make another "
                "AttentionHeatmap for them."
            )
        return proposal.value

    def attend(self) -> tuple[Tensor, Tensor]:
        """The output and the weights that the widget shows, by the book's own `attention`."""
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
        _, weights = self.attend()
        tokens = list(map(Verbatim, self.tokens))
        rows = ((token, map(number, row)) for token, row in zip(tokens, weights.tolist(), strict=True))
        return html_table(self.edition_words()["table"], tokens, rows)

    def _vectors(self) -> tuple[Tensor, ...]:
        if self.q_LK:
            return tuple(torch.tensor(rows, dtype=torch.float64) for rows in (self.q_LK, self.k_LK, self.v_LV))
        known = word_vectors()
        nothing = torch.zeros(len(known["the"]))
        rows = torch.stack([known.get(token.lower(), nothing) for token in self.tokens]).double()
        return rows, rows, rows


def _numbers(name: str, rows: Sequence) -> list[list[float]]:
    """A matrix as lists: of a tensor, an array or lists."""
    matrix = rows.tolist() if hasattr(rows, "tolist") else [list(row) for row in rows]  # pyright: ignore[reportAttributeAccessIssue] (asked)
    if any(not isinstance(row, list) or not all(map(math.isfinite, row)) for row in matrix):
        raise ValueError(f"{name} must hold rows of finite numbers, such as [[1.0, 0.5], [0.0, 2.0]]; got {matrix}.")
    return matrix
