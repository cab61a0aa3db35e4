"""What draws the eye: what stands out by itself, and what one looks for. Both are scores; softmax moves the gaze."""

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, plain
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

SCENES = {  # each thing: how much it stands out, and how well it fits the wish
    "desk": {
        "newspaper": [0.2, 0.6],
        "paper": [0.1, 0.3],
        "red cup": [1.0, 0.0],
        "notebook": [0.2, 0.4],
        "book": [0.1, 1.0],
    },
    "crowd": {
        "umbrella": [0.5, 0.0],
        "green coat": [0.1, 0.8],
        "running child": [1.0, 0.1],
        "friend": [0.7, 1.0],
        "phone": [0.1, 0.1],
    },
}


class CueScene(BookWidget):
    """Five things side by side, each with a key of two numbers; two sliders are the query.

    >>> CueScene(wish=6.0).weights().argmax().item()  # the book
    4
    """

    scene = traitlets.Enum(list(SCENES), "desk").tag(sync=True)
    names = traitlets.List(traitlets.Unicode(), list(SCENES["desk"])).tag(sync=True)
    keys_MK = traitlets.List(list(SCENES["desk"].values())).tag(sync=True)
    salience = traitlets.Float(4.0, min=0.0, max=8.0).tag(sync=True)
    wish = traitlets.Float(0.0, min=0.0, max=8.0).tag(sync=True)

    def __init__(self, scene: str = "desk", **traits):
        if scene in SCENES:  # traitlets complains of any other
            traits = {"names": list(SCENES[scene]), "keys_MK": list(SCENES[scene].values()), **traits}
        super().__init__(scene=scene, **traits)

    def weights(self) -> Tensor:
        """softmax(q · k): the share of the gaze that each thing gets."""
        query = torch.tensor([self.salience, self.wish]).double()
        return (torch.tensor(self.keys_MK).double() @ query).softmax(-1)

    def table(self) -> str:
        say = self.edition_words()
        named = (say["things"].get(name, Verbatim(name)) for name in self.names)
        numbers = (
            [*(number(x, 1) for x in key), number(weight)]
            for key, weight in zip(self.keys_MK, self.weights().tolist(), strict=True)
        )
        caption = say["table"]["caption"].format(salience=plain(self.salience), wish=plain(self.wish))
        heads = [say["outstanding"], say["table"]["fits"], say["weight"]]
        return html_table(caption, heads, zip(named, numbers, strict=True))
