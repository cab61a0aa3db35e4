"""What the first token says on its way to the last: through four kinds of layers, in steps and in operations."""

from collections.abc import Iterable

import traitlets

from attnbook.language import whole
from attnbook.learning.complexity import Convolution, Kind, Recurrence, SelfAttention
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import html_table

WIDTH, MOST = 64, 32
MACHINES = [1, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]


class SignalRace(BookWidget):
    """A race of n tokens, width 64, after so many steps; and how long it takes on a machine.

    >>> widget = SignalRace(n=16)
    >>> {name: kind.layers(16) * len(kind.operations_per_step(16, 64)) for name, kind in widget.kinds().items()}
    {'recurrence': 16, 'convolution': 8, 'dilated': 3, 'attention': 4}
    """

    n = traitlets.Int(16, min=2, max=MOST).tag(sync=True)
    kernel = traitlets.Int(3, min=2, max=5).tag(sync=True)
    step = traitlets.Int(2, min=0, max=MOST).tag(sync=True)
    at_once = traitlets.Enum(MACHINES, MACHINES[-1]).tag(sync=True)

    def kinds(self) -> dict[str, Kind]:
        return {
            "recurrence": Recurrence(),
            "convolution": Convolution(self.kernel),
            "dilated": Convolution(self.kernel, dilated=True),
            "attention": SelfAttention(),
        }

    def table(self) -> str:
        say = self.edition_words()

        def cells(kind: Kind) -> Iterable[str]:
            layers, cost = kind.layers(self.n), kind.cost(self.n, WIDTH)
            time = kind.time(self.n, WIDTH, self.at_once)
            return map(whole, (layers, layers * cost.steps, layers * cost.operations, time))

        caption = say["table"]["caption"].format(n=self.n, width=WIDTH, kernel=self.kernel, at_once=whole(self.at_once))
        rows = ((say["kinds"][name], cells(kind)) for name, kind in self.kinds().items())
        return html_table(caption, say["table"]["columns"], rows)
