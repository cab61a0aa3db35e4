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

from attnbook.tasks.digits import by_label, one_of_each


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


def reach_loss(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Cross-entropy of yes and no, for every node."""
    edges_BLL, marked_BL, near_BL = given
    return F.binary_cross_entropy_with_logits(model(edges_BLL, marked_BL), near_BL)
