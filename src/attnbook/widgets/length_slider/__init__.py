"""Dot product against cosine: stretch a vector, and see which of the two cares."""

import math

import traitlets

from attnbook.language import number
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table


class LengthSlider(BookWidget):
    """Two arrows, a and b, beside a query of length 1 that points to the right. Angles in degrees.

    >>> LengthSlider(angle_a=60, length_a=2.0).measures()["a"]
    (1.0, 0.5)
    """

    angle_a = traitlets.Int(20, min=-180, max=180).tag(sync=True)
    length_a = traitlets.Float(0.8, min=0.1, max=2.5).tag(sync=True)
    angle_b = traitlets.Int(-60, min=-180, max=180).tag(sync=True)
    length_b = traitlets.Float(2.0, min=0.1, max=2.5).tag(sync=True)

    def measures(self) -> dict[str, tuple[float, float]]:
        """Each arrow's dot product and cosine with the query."""
        found = {}
        for name, angle, length in (("a", self.angle_a, self.length_a), ("b", self.angle_b, self.length_b)):
            cosine = round(math.cos(math.radians(angle)), 12)
            found[name] = (length * cosine, cosine)
        return found

    def table(self) -> str:
        say = self.edition_words()["table"]
        rows = ((Verbatim(name), map(number, measures)) for name, measures in self.measures().items())
        return html_table(say["caption"], [say["dot"], say["cosine"]], rows)
