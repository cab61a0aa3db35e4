"""What h heads of width D/h cost, and what they can do, while D stays the same."""

import traitlets

from attnbook.widgets.shared.base import BookWidget, html_table

WIDTHS, HEADS, LENGTHS = [64, 128, 256, 512, 768, 1024], [1, 2, 4, 8, 16, 32, 64], [16, 64, 256, 1024, 4096]


class HeadBudget(BookWidget):
    """Heads against their width.

    >>> HeadBudget(width=512, heads=8).figures()["numbers of a head, K = D / H"]
    64
    """

    width = traitlets.Enum(WIDTHS, 512).tag(sync=True)
    heads = traitlets.Enum(HEADS, 8).tag(sync=True)
    length = traitlets.Enum(LENGTHS, 256).tag(sync=True)

    def figures(self) -> dict[str, int]:
        D, H, L = self.width, self.heads, self.length
        return {
            "numbers of a head, K = D / H": D // H,
            "parameters, 4 D²": 4 * D**2,
            "multiplications, 4 L D² + 2 L² D": 4 * L * D**2 + 2 * L**2 * D,
            "patterns, one of L × L for each head": H,
            "weights, H L²": H * L**2,
            "rank of a head's scores, at most min(K, L)": min(D // H, L),
        }

    def table(self) -> str:
        rows = ((name, [f"{x:,}" if x < 1e6 else f"{x / 1e6:.1f} million"]) for name, x in self.figures().items())
        return html_table(f"D = {self.width}, {self.heads} heads, {self.length} words", ["is"], rows)
