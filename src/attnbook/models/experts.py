"""A mixture of experts: many feed-forward networks, of which each token goes through a few."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook._inputs import check_fits, check_sequences, check_sizes
from attnbook.models.transformer import SwiGLU


class Routing(NamedTuple):
    """Where T tokens went: the router's probabilities (T, E), the experts chosen (T, k), and the weights of these.

    >>> chosen, weights = torch.tensor([[0], [0]]), torch.ones(2, 1)
    >>> routing = Routing(torch.tensor([[0.75, 0.25], [0.75, 0.25]]), chosen, weights)
    >>> routing.load, routing.balance  # all tokens went to the first of two
    (tensor([1., 0.]), tensor(1.5000))
    """

    probabilities: Tensor
    chosen: Tensor
    weights: Tensor

    @property
    def load(self) -> Tensor:
        """The share of choices that fell on each expert, (E,)."""
        E = self.probabilities.shape[-1]
        return self.chosen.flatten().bincount(minlength=E) / max(self.chosen.numel(), 1)

    @property
    def balance(self) -> Tensor:
        """E Σ load · mean probability: 1 where all are asked as often, E where one is asked by all.

        Added to a loss, a hundredth of it for instance, it takes probability from those with more than their share.
        """
        return len(self.load) * (self.load * self.probabilities.mean(0)).sum()


class Router(nn.Linear):
    """A score for each expert; the highest are chosen, and a softmax over these gives their weights."""

    def __init__(self, D: int, experts: int, active: int):
        super().__init__(D, experts, bias=False)
        self.active = active

    def forward(self, x: Tensor) -> Routing:
        scores = super().forward(x)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        highest, chosen = scores.topk(self.active)
        return Routing(scores.softmax(-1), chosen, highest.softmax(-1))


class MixtureOfExperts(nn.Module):
    """Σ w_e f_e(x) over the `active` experts that the router scores highest; a block's `feed_forward`.

    >>> layer = MixtureOfExperts(D=8, hidden=16, experts=4, active=2)
    >>> with capture_routing(layer) as routings:
    ...     y = layer(torch.randn(1, 3, 8))
    >>> y.shape, routings[""].chosen.shape
    (torch.Size([1, 3, 8]), torch.Size([3, 2]))

    experts, active   how many there are, and how many each token goes through: it pays for these alone
    shared            how many more every token goes through, with weight 1
    expert            what one is, `SwiGLU` or `FeedForward`; each has width `hidden`
    """

    def __init__(
        self,
        D: int,
        hidden: int,
        dropout: float = 0.0,
        *,
        experts: int = 8,
        active: int = 2,
        shared: int = 0,
        expert: Callable[..., nn.Module] = SwiGLU,
    ):
        super().__init__()
        check_sizes(D=D, hidden=hidden, experts=experts, active=active)
        check_sizes(0, shared=shared)
        if active > experts:
            raise ValueError(f"active experts are chosen from all; got active = {active} of experts = {experts}.")
        self.router = Router(D, experts, active)
        self.experts = nn.ModuleList(expert(D, hidden, dropout) for _ in range(experts))
        self.shared = nn.ModuleList(expert(D, hidden, dropout) for _ in range(shared))

    def forward(self, x: Tensor) -> Tensor:
        check_sequences(x=x)
        check_fits("x", x, self.router, "x")
        x_TD = x.flatten(0, -2)
        routing = self.router(x_TD)
        y_TD = torch.stack([expert(x_TD) for expert in self.shared]).sum(0) if self.shared else torch.zeros_like(x_TD)
        for number in routing.chosen.unique().tolist():
            token, slot = (routing.chosen == number).nonzero(as_tuple=True)
            share = routing.weights[token, slot, None] * self.experts[number](x_TD[token])
            y_TD = y_TD.index_add(0, token, share.to(y_TD.dtype))
        return y_TD.view(x.shape)


@contextmanager
def capture_routing(model: nn.Module) -> Iterator[dict[str, Routing]]:
    """Inside this context the routing of every `MixtureOfExperts` is collected, by the layer's name, with gradients.

    >>> from functools import partial
    >>> from attnbook import LanguageModel
    >>> experts = partial(MixtureOfExperts, experts=4, active=1)
    >>> model = LanguageModel(N=20, D=8, heads=2, hidden=16, layers=2, feed_forward=experts)
    >>> with capture_routing(model) as routings:
    ...     scores = model(torch.tensor([[5, 6, 7]]))
    >>> extra = sum(routing.balance for routing in routings.values())
    >>> [*routings]
    ['decoder.0.feed_forward', 'decoder.1.feed_forward']
    """
    routings: dict[str, Routing] = {}
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, MixtureOfExperts)}
    if not layers:
        raise ValueError(f"{type(model).__name__} has no MixtureOfExperts; give it one as feed_forward.")
    hooks = [
        layer.router.register_forward_hook(lambda router, given, routing, name=name: routings.update({name: routing}))
        for name, layer in layers.items()
    ]
    try:
        yield routings
    finally:
        for hook in hooks:
            hook.remove()
