"""What stands in for a widget where no script runs: tables; and the mask that a reader painted."""

import html
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


def painted(cells: Iterable[Sequence[int]], L: int, M: int) -> Tensor:
    """True in each of the cells (row, column) that lie within L × M.

    >>> painted([[0, 1], [7, 7], [-1, 0]], 2, 2).tolist()
    [[False, True], [False, False]]
    """
    mask = torch.zeros(L, M, dtype=torch.bool)
    for i, j in cells:
        if 0 <= i < L and 0 <= j < M:
            mask[i, j] = True
    return mask


class Verbatim(str):
    """Data in a table, such as a token: the same in every language."""


def html_table(caption: str, columns: Sequence[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """An HTML table with a heading for every column and row.

    >>> html_table("Weights", ["cat"], [("the", ["0.50"])])
    '<table><caption>Weights</caption><tr><td></td><th scope="col">cat</th></tr>\
<tr><th scope="row">the</th><td>0.50</td></tr></table>'
    """

    def cell(text: str, tag: str = "td", attributes: str = "") -> str:
        kept = ' translate="no"' if isinstance(text, Verbatim) else ""
        return f"<{tag}{attributes}{kept}>{html.escape(text)}</{tag}>"

    head = "".join(cell(name, "th", ' scope="col"') for name in columns)
    lines = (cell(name, "th", ' scope="row"') + "".join(map(cell, cells)) for name, cells in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><caption>{html.escape(caption)}</caption><tr><td></td>{head}</tr>{body}</table>"
