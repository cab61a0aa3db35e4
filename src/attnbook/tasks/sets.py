"""Sets, whose members have no order, and graphs, whose edges say who may look at whom.

>>> from attnbook.tasks.digits import digits
>>> images_BLHW, counts_B = sets(digits(), 2, L=5)(torch.Generator().manual_seed(0))
>>> images_BLHW.shape, counts_B.tolist()
(torch.Size([2, 5, 8, 8]), [3, 3])
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.models.transformer import EncoderBlock
from attnbook.tasks.digits import by_label, one_of_each

OPTIONS = {"dropout": 0.0, "norm": "pre"}


def sets(data: tuple[Tensor, Tensor], size: int, L: int = 6) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """To be called in each step of training: sets of L images of digits, and how many different digits each shows."""
    images_NHW, labels_N = data

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        kinds_B = torch.randint(1, L + 1, (size, 1), generator=generator).clamp(max=10)
        some_BK = torch.rand(size, 10, generator=generator).argsort(-1)
        which_BL = (torch.rand(size, L, generator=generator) * kinds_B).long()
        wanted_BL = some_BK.gather(1, which_BL)
        order_N = torch.randperm(len(labels_N), generator=generator)
        of_digit = [order_N[places] for places in by_label(labels_N[order_N])]
        chosen_BL = one_of_each(of_digit, wanted_BL, generator)
        return images_NHW[chosen_BL], F.one_hot(wanted_BL, 10).amax(1).sum(-1)

    return draw


class Counter(nn.Module):
    """Scores (B, 11) for how many different digits a set shows: members look at each other, and there are no positions.

    With attends=False each member is seen by itself, and only the mean, or the sum, is seen of all.
    """

    def __init__(self, D: int = 64, heads: int = 4, hidden: int = 128, *, attends: bool = True, pool: str = "mean"):
        super().__init__()
        self.embed = nn.Sequential(nn.Flatten(2), nn.Linear(64, hidden), nn.GELU(), nn.Linear(hidden, D))
        block = [EncoderBlock(D, heads, hidden, **OPTIONS) for _ in range(2)] if attends else [nn.GELU()]
        self.blocks, self.pool = nn.Sequential(*block), pool
        self.scores = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, hidden), nn.GELU(), nn.Linear(hidden, 11))
        if pool == "sum":
            self.scores[0] = nn.Identity()  # whose norm would take the size away

    def forward(self, images_BLHW: Tensor) -> Tensor:
        members_BLD = self.blocks(self.embed(images_BLHW))
        return self.scores(members_BLD.sum(1) if self.pool == "sum" else members_BLD.mean(1))


def count_loss(model: nn.Module, given: tuple[Tensor, Tensor]) -> Tensor:
    """Cross-entropy of the counts."""
    images_BLHW, counts_B = given
    return F.cross_entropy(model(images_BLHW), counts_B)


def graphs(
    size: int, L: int = 12, steps: int = 2, degree: float = 2.0
) -> Callable[[torch.Generator], tuple[Tensor, Tensor, Tensor]]:
    """To be called in each step of training: edges (size, L, L), a marked node, and who is within two steps of it.

    Every node is its own neighbour; an edge leads both ways.
    """

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        upper_BLL = (torch.rand(size, L, L, generator=generator) < degree / (L - 1)).triu(1)
        edges_BLL = upper_BLL | upper_BLL.mT | torch.eye(L, dtype=torch.bool)
        marked_BL = F.one_hot(torch.randint(L, (size,), generator=generator), L)
        near_BL = marked_BL.float()
        for _ in range(steps):
            near_BL = (edges_BLL.float() @ near_BL[..., None])[..., 0].clamp(max=1)
        return edges_BLL, marked_BL, near_BL

    return draw


class Walker(nn.Module):
    """For each node a score (B, L) that it is near the marked one: a node looks at its neighbours, once a layer.

    edges="mask"     they are the mask
    edges="nothing"  everyone looks at everyone
    edges="read"     that, too, but a node reads its row of the edges, and knows which row is its own
    """

    def __init__(
        self, layers: int = 2, D: int = 32, heads: int = 4, hidden: int = 64, edges: str = "mask", L: int = 12
    ):
        super().__init__()
        self.edges = edges
        self.marks = nn.Embedding(2, D)
        self.rows = nn.Linear(2 * L, D) if edges == "read" else None
        self.blocks = nn.ModuleList(EncoderBlock(D, heads, hidden, **OPTIONS) for _ in range(layers))
        self.norm, self.score = nn.LayerNorm(D), nn.Linear(D, 1)

    def forward(self, edges_BLL: Tensor, marked_BL: Tensor) -> Tensor:
        x_BLD = self.marks(marked_BL)
        if self.rows is not None:
            own_BLL = torch.eye(edges_BLL.shape[1]).expand(edges_BLL.shape)
            x_BLD = x_BLD + self.rows(torch.cat([edges_BLL.float(), own_BLL], -1))
        mask_BLL = edges_BLL if self.edges == "mask" else None
        for block in self.blocks:
            x_BLD = block(x_BLD, mask_BLL)
        return self.score(self.norm(x_BLD))[..., 0]


def reach_loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of yes and no, for every node."""
    edges_BLL, marked_BL, near_BL = given
    return F.binary_cross_entropy_with_logits(model(edges_BLL, marked_BL), near_BL)
