"""A language model that writes in the page, token by token: what could come next, what is cut, where heads look."""

import copy
from functools import cache

import torch
import traitlets
from torch import Tensor, nn

from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.models.decoding import filtered
from attnbook.tasks.writing import CONTEXT, HEADS, LAYERS, N, writer, writer_pairs
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.pairs import shown_token
from attnbook.widgets.shared.random import uniforms
from attnbook.widgets.shared.tables import Verbatim, html_table

FIRST = "JULIET:\nO Romeo, Romeo! wherefore art thou Romeo?\nDeny thy father and refuse"
LONGEST = 120  # letters of a prompt; of its tokens the first MOST are read
MOST, SHOWN = 96, 10


@cache
def model() -> nn.Module:
    """In float64, as the page computes."""
    return copy.deepcopy(writer()).double()


class TextGenerator(BookWidget):
    """The committed `writer` goes on from a prompt; `written` are the tokens that it has added, or the reader.

    A token is drawn as `attnbook.sample` does, with the numbers of `shared/random.py` for a seed, one per position.
    Token `at` (from 1, or the last) is looked from, by one head of all blocks or, with 0, their mean.

    >>> generator = TextGenerator("O Romeo, Rome", temperature=0.0)
    >>> writer_pairs().decode(torch.tensor([generator.next()]))
    'o'
    """

    prompt = traitlets.Unicode(FIRST).tag(sync=True)
    written = traitlets.List(traitlets.Int(min=0, max=N - 1), maxlen=CONTEXT).tag(sync=True)
    temperature = traitlets.Float(0.8, min=0.0).tag(sync=True)
    top_k = traitlets.Int(N, min=1).tag(sync=True)
    top_p = traitlets.Float(0.9, min=0.01, max=1.0).tag(sync=True)
    seed = traitlets.Int(1, min=1).tag(sync=True)
    at = traitlets.Int(CONTEXT, min=1, max=CONTEXT).tag(sync=True)
    head = traitlets.Int(0, min=0, max=LAYERS * HEADS).tag(sync=True)
    pairs = Asset("pairs.bin")
    model = Asset("writer.bin", first=True)

    def __init__(self, prompt: str = FIRST, **traits):
        super().__init__(prompt=prompt, **traits)

    @traitlets.validate("prompt")
    def _fits(self, proposal) -> str:
        if not 0 < len(proposal["value"]) <= LONGEST:
            raise traitlets.TraitError(f"a prompt of 1 to {LONGEST} letters; got {len(proposal['value'])}")
        return proposal["value"]

    def ids(self) -> Tensor:
        """The tokens so far (L,)."""
        return torch.cat([writer_pairs().encode(self.prompt)[:MOST], torch.tensor(self.written).long()])[:CONTEXT]

    @torch.no_grad()
    def read(self) -> tuple[Tensor, Tensor]:
        """The scores (N,) for the next token; and the weights (heads, L, L) of all blocks, one after the other."""
        with capture_attention(model()) as maps:
            scores = model()(self.ids()[None])[0, -1]
        return scores, torch.cat([maps[f"decoder.{n}.self_attention"][0] for n in range(LAYERS)])

    def chances(self) -> Tensor:
        """With which the next token is drawn (N,)."""
        return filtered(self.read()[0], self.temperature, self.top_k, self.top_p)

    def next(self) -> int:
        """The next token."""
        sums = self.chances().cumsum(-1)
        place = len(self.written)
        return int((sums <= uniforms(self.seed, place + 1)[place] * sums[-1]).sum())

    def table(self) -> str:
        say, tokens = self.edition_words()["table"], writer_pairs().tokens
        (scores, _), chances = self.read(), self.chances()
        rows = (
            (Verbatim(shown_token(tokens[token])), [number(scores.softmax(-1)[token], 3), number(chances[token], 3)])
            for token in scores.sort(descending=True, stable=True).indices[:SHOWN].tolist()
        )
        text = writer_pairs().decode(self.ids())
        caption = say["caption"].format(text=text, left=whole(int((chances > 0).sum())), all=whole(N))
        return html_table(caption, [say["by_itself"], say["drawn"]], rows)
