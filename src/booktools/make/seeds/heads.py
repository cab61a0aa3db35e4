"""What chapter 6 measures with several seeds.

joint      chapter 6: for each of ten seeds, one head whose values know the mark, trained as on the page: the shares of
           right answers under the star and under the dot
deep       the same for one head with a hidden layer behind it
copiers    chapter 6: for each of three seeds, one causal layer that reads a passage twice, twice as wide as the page's,
           with twice as many heads and trained ten and thirty times as long: the share of letters that it copies
wider      the same four times as wide as the page's, and as many heads, trained as long and ten times as long
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.layers.masks import causal
from attnbook.layers.multihead import MultiHeadAttention
from attnbook.tasks import marks


class JointFinder(marks.Finder):
    def __init__(self, heads: int, D: int = 16):
        super().__init__(heads, D)
        self.letters = nn.Embedding(len(marks.MARKS) * len(marks.LETTERS), D)

    def forward(self, letters: Tensor, marked: Tensor) -> Tensor:
        return super().forward(letters + len(marks.LETTERS) * marked, marked)


class DeepFinder(marks.Finder):
    def __init__(self, heads: int, D: int = 16):
        super().__init__(heads, D)
        hidden = nn.Linear(D, 2 * D)
        self.answers = nn.Sequential(hidden, nn.ReLU(), nn.Linear(2 * D, 2 * len(marks.LETTERS)))


def joint(seed: int) -> dict[str, float]:
    return _answers_of_one_head(JointFinder, seed)


def deep(seed: int) -> dict[str, float]:
    return _answers_of_one_head(DeepFinder, seed)


def _answers_of_one_head(kind: type[marks.Finder], seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    model = kind(1)
    generator, draw = torch.Generator().manual_seed(0), marks.marked_letters(64)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for _ in range(1000):
        loss = model.loss(model, draw(generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    letters, marked, answers_B2 = marks.marked_letters(2000)(torch.Generator().manual_seed(1))
    with torch.no_grad():
        star, dot = (model(letters, marked).argmax(-1) == answers_B2).float().mean(0).tolist()
    return {"seed": seed, "star": round(star, 3), "dot": round(dot, 3)}


class Copier(nn.Module):
    """Causal layers one after the other, each added to what it was given; chapter 6 builds them on its page."""

    def __init__(self, layers: int, D: int, heads: int):
        super().__init__()
        self.letters, self.places = nn.Embedding(16, D), nn.Embedding(17, D)
        self.layers = nn.ModuleList(MultiHeadAttention(D, heads) for _ in range(layers))
        self.answers = nn.Linear(D, 16)

    def forward(self, letters_BL: Tensor) -> Tensor:
        L = letters_BL.shape[1]
        x_BLD = self.letters(letters_BL) + self.places.weight[:L]
        for layer in self.layers:
            x_BLD = x_BLD + layer(x_BLD, mask=causal(L))
        return self.answers(x_BLD)


def copiers(seed: int) -> dict[str, float]:
    return _copied_by(64, 4, 3000, 9000, seed)


def wider(seed: int) -> dict[str, float]:
    return _copied_by(128, 8, 300, 3000, seed)


def _copied_by(D: int, heads: int, steps: int, longer: int, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    model = Copier(1, D, heads)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    tested_BL = _said_twice(1000, torch.Generator().manual_seed(1))
    row: dict[str, float] = {"seed": seed, "width": D, "heads": heads, "steps": steps, "longer": longer}
    for step in range(1, longer + 1):
        texts_BL = _said_twice(64, generator)
        loss = F.cross_entropy(model(texts_BL[:, :-1])[:, 12:].flatten(0, 1), texts_BL[:, 13:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (steps, longer):
            with torch.no_grad():
                copied = model(tested_BL[:, :-1])[:, 12:].argmax(-1) == tested_BL[:, 13:]
            row[f"after_{step}"] = round(copied.float().mean().item(), 3)
    return row


def _said_twice(B: int, generator: torch.Generator) -> Tensor:
    """Twelve different letters of sixteen, and six of them, in a row, once more."""
    first_BL = torch.rand(B, 16, generator=generator).argsort(-1)[:, :12]
    start_B1 = torch.randint(7, (B, 1), generator=generator)
    return torch.cat([first_BL, first_BL.gather(1, start_B1 + torch.arange(6))], 1)
