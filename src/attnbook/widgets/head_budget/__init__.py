"""What h heads of width D/h cost, and what they can do, while D stays the same."""

import traitlets

from attnbook.language import count, large, whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

WIDTHS, HEADS, LENGTHS = [64, 128, 256, 512, 768, 1024], [1, 2, 4, 8, 16, 32, 64], [16, 64, 256, 1024, 4096]


class HeadBudget(BookWidget):
    """Heads against their width.

    >>> HeadBudget(width=512, heads=8).figures()["each"]
    64
    """

    width = traitlets.Enum(WIDTHS, 512).tag(sync=True)
    heads = traitlets.Enum(HEADS, 8).tag(sync=True)
    length = traitlets.Enum(LENGTHS, 256).tag(sync=True)

    def figures(self) -> dict[str, int]:
        D, H, L = self.width, self.heads, self.length
        return {
            "each": D // H,
            "parameters": 4 * D**2,
            "products": 4 * L * D**2 + 2 * L**2 * D,
            "patterns": H,
            "weights": H * L**2,
            "rank": min(D // H, L),
        }

    def table(self) -> str:
        say, sizes = self.edition_words()["table"], self.edition_words()["sizes"]
        names = self.edition_words()["figures"] | say["figures"]
        rows = ((names[name], [large(x, sizes, 1e6)]) for name, x in self.figures().items())
        heads, length = count(say["heads"], self.heads), count(say["length"], self.length)
        caption = say["caption"].format(width=whole(self.width), heads=heads, length=length)
        return html_table(caption, [self.edition_words()["now"]], rows)
