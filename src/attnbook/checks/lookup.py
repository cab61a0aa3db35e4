"""Chapter 3: a soft dictionary, regression in which no point sees itself, and the training loop."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle, repeat

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.checks.judging import Wrong, call, close, compare, describe, exercise, explained
from attnbook.language import number

Loop = Callable[[nn.Module, Callable, Callable, int, float], list]


@exercise
def soft_lookup(answer: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> None:
    """`answer(q_K, k_MK, v_MV, temperature)` is the mean of the values, near keys counted more, of shape (V,)."""
    answers = {case: call(answer, *inputs) for case, inputs in _LOOKUP_CASES.items()}
    for case, inputs in _LOOKUP_CASES.items():
        want = _lookup()(*inputs)
        compare(case, answers[case], want, ("value",), partial(explained, answers, WRONG_LOOKUP, _LOOKUP_CASES, case))


@exercise
def left_out_error(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """`answer(x_M, y_M, width)` is the mean squared error at the points, each predicted by the others."""
    answers = {case: call(answer, *inputs) for case, inputs in _ERROR_CASES.items()}
    for case, inputs in _ERROR_CASES.items():
        got, want = answers[case], _error()(*inputs)
        try:
            got = answers[case] = torch.tensor(float(got))
        except (TypeError, ValueError, RuntimeError) as error:
            raise Wrong("one_number", case=case, got=describe(got)) from error
        if not torch.isclose(got, want, rtol=1e-4, atol=1e-6):
            why = explained(answers, WRONG_ERROR, _ERROR_CASES)
            right, found = number(want.item(), 4), number(got.item(), 4)
            raise Wrong("expected", case=case, want=right, got=found, why=why)


@exercise
def training_loop(answer: Loop) -> None:
    """`answer(model, loss, batch, steps, lr)` trains by Adam: each step draws batch(generator), and takes one step down
    loss(model, it). It returns the loss of every step, a list.
    """
    answers = {case: _trained(answer, *inputs) for case, inputs in _RUNS.items()}
    for case, got in answers.items():
        steps, _ = _RUNS[case]
        wrong = {name: _run_of(mistake) for name, mistake in WRONG_LOOP.items()}
        if got.shape != (want := _trained(_loop(), *_RUNS[case])).shape:
            why = explained(answers, wrong, _RUNS)
            raise Wrong("a_loss_a_step", case=case, want=steps, got=len(got) - 3, why=why)
        if not (same := close(got, want)).all():
            step, why = int((~same).nonzero()[0]), explained(answers, wrong, _RUNS)
            if step >= steps:
                raise Wrong("parameters_after_training", case=case, why=why)
            right, found = (number(x[step].item(), 4) for x in (want, got))
            raise Wrong("loss_of_a_step", case=case, n=step + 1, want=right, got=found, why=why)


def _trained(loop: Loop, steps: int, lr: float) -> Tensor:
    """The losses of a loop, and the three parameters that it leaves, of a model and batches that never change."""
    model, batch = nn.Linear(2, 1), _Batches()
    with torch.no_grad():
        for parameter, given in zip(model.parameters(), _START, strict=True):
            parameter.copy_(given)
    losses = call(
        loop,
        model,
        lambda model, x: F.mse_loss(model(x)[:, 0], x[:, 0] - 2 * x[:, 1]),
        batch,
        steps,
        lr,
    )
    if not isinstance(losses, list | tuple | Tensor) or not all(map(_is_number, losses)):
        raise Wrong("a_list_of_losses", got=describe(losses))
    if any(isinstance(loss, Tensor) and loss.requires_grad for loss in losses):
        raise Wrong("losses_with_graphs")
    parameters = [parameter.detach().flatten() for parameter in model.parameters()]
    return torch.cat(
        [torch.tensor([loss.item() if isinstance(loss, Tensor) else loss for loss in losses]), *parameters]
    )


class _Batches:
    """The same batches in the same order, whatever the seed, as long as one generator draws them all.

    A loop that gives no generator, or one in a state that was seen before, gets others, by which it can be told.
    """

    def __init__(self):
        self.drawn, self.again, self.by_none = map(cycle, _BATCHES)
        self.states: set[tuple] = set()

    def __call__(self, generator: torch.Generator | None = None) -> Tensor:
        if not isinstance(generator, torch.Generator):
            return next(self.by_none)
        state = tuple(generator.get_state().tolist())
        torch.rand(1, generator=generator, device=generator.device)
        source = self.again if state in self.states else self.drawn
        self.states.add(state)
        return next(source)


_DRAW = torch.Generator().manual_seed(5)
_START = tuple(torch.randn(*shape, generator=_DRAW).round(decimals=2) for shape in ((1, 2), (1,)))
_BATCHES = tuple(torch.randn(12, 8, 2, generator=_DRAW).round(decimals=2) for _ in range(3))


def _is_number(loss: object) -> bool:
    return isinstance(loss, int | float) or (isinstance(loss, Tensor) and loss.numel() == 1)


def _run_of(loop: Loop) -> Callable[[int, float], Tensor]:
    return lambda steps, lr: _trained(loop, steps, lr)


def _loop(
    clear=True,
    late=False,
    moves=True,
    again=False,
    adam: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
    rate=lambda lr: lr,
    less=0,
    one=False,
    generators: Callable[[], Iterator[torch.Generator | None]] = lambda: repeat(torch.Generator()),
) -> Loop:
    def train(model: nn.Module, loss: Callable, batch: Callable, steps: int, lr: float) -> list[float]:
        optimizer, losses, first = adam(model.parameters(), rate(lr)), [], None
        for _, generator in zip(range(steps - less), generators(), strict=False):
            first = batch(generator) if first is None or not one else first
            value = loss(model, first)
            optimizer = adam(model.parameters(), rate(lr)) if again else optimizer
            if late:
                optimizer.step()
            if clear:
                optimizer.zero_grad()
            value.backward()
            if moves and not late:
                optimizer.step()
            losses.append(value.item())
        return losses

    return train


# What goes wrong with the training loop, each as a function with the signature of the exercise.
WRONG_LOOP: dict[str, Loop] = {
    "never_clears_the_gradients": _loop(clear=False),
    "steps_before_backward": _loop(late=True),
    "never_moves_the_parameters": _loop(moves=False),
    "makes_an_optimizer_in_every_step": _loop(again=True),
    "climbs": _loop(adam=lambda parameters, lr: torch.optim.Adam(parameters, lr, maximize=True)),
    "takes_sgd": _loop(adam=torch.optim.SGD),
    "ignores_the_rate": _loop(rate=lambda lr: 1e-3),
    "takes_a_step_too_few": _loop(less=1),
    "learns_from_one_batch_alone": _loop(one=True),
    "seeds_its_generator_in_every_step": _loop(generators=lambda: (torch.Generator().manual_seed(0) for _ in count())),
    "draws_without_a_generator": _loop(generators=lambda: repeat(None)),
}
_RUNS: dict[str, tuple[int, float]] = {"5_steps": (5, 0.1), "12_steps": (12, 0.03)}


def _lookup(score=lambda q, k: -(q - k).square().sum(-1), cool=lambda s, t: s / t):
    def look_up(q: Tensor, k: Tensor, v: Tensor, temperature: float) -> Tensor:
        return cool(score(q, k), temperature).softmax(-1) @ v

    return look_up


# What goes wrong with a soft lookup, each as a function with the signature of the exercise.
WRONG_LOOKUP: dict[str, Callable[..., Tensor]] = {
    "has_the_sign_of_the_distance_wrong": _lookup(lambda q, k: (q - k).square().sum(-1)),
    "does_not_square_the_distance": _lookup(lambda q, k: -(q - k).norm(dim=-1)),
    "takes_the_dot_product": _lookup(lambda q, k: k @ q),
    "ignores_the_temperature": _lookup(cool=lambda s, t: s),
    "multiplies_by_the_temperature": _lookup(cool=lambda s, t: s * t),
    "takes_half_the_squared_distance": _lookup(lambda q, k: -(q - k).square().sum(-1) / 2),
    "takes_the_nearest_alone": lambda q, k, v, t: v[(q - k).square().sum(-1).argmin()],
    "takes_the_mean_of_all": lambda q, k, v, t: v.mean(0),
}


def _error(itself: bool = False, power=lambda d, w: d.square() / (2 * w**2), loss=torch.square, total=torch.mean):
    def error(x: Tensor, y: Tensor, width: float) -> Tensor:
        scores = -power(x[:, None] - x, width)
        if not itself:
            scores = scores.masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
        return total(loss(scores.softmax(-1) @ y - y))

    return error


# What goes wrong with the error at the points, likewise.
WRONG_ERROR: dict[str, Callable[..., Tensor]] = {
    "lets_each_point_see_itself": _error(itself=True),
    "divides_by_the_width_where_it": _error(power=lambda d, w: d.square() / w),
    "divides_by_the_square": _error(power=lambda d, w: d.square() / w**2),
    "does_not_square_the_error": _error(loss=torch.abs),
    "takes_the_root_of_the_error": _error(total=lambda errors: errors.mean().sqrt()),
    "takes_half_the_error": _error(loss=lambda x: x.square() / 2),
    "adds_up_where_it_should_take": _error(total=torch.sum),
}


def _lookup_cases() -> dict[str, tuple[Tensor, Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(*shape, generator=draw) for shape in ((4,), (6, 4), (6, 2)))
    stations = torch.tensor([[2.0, 3.0], [5.0, 4.0], [9.0, 8.0]]), torch.tensor([[14.0], [19.0], [2.0]])
    return {
        "three_stations": (torch.tensor([4.0, 3.0]), *stations, 2.0),
        "at_a_station": (torch.tensor([5.0, 4.0]), *stations, 0.5),
        "M=6, K=4, V=2": (q, k, v, 1.0),
        "hot": (q, k, v, 20.0),
        "cold_and_far": (torch.tensor([7.0, 9.0]), *stations, 0.02),
    }


def _error_cases() -> dict[str, tuple[Tensor, Tensor, float]]:
    draw = torch.Generator().manual_seed(4)
    x, y = torch.rand(9, generator=draw) * 5, torch.randn(9, generator=draw)
    return {
        "three_points": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 1.0),
        "nine_points": (x, y, 0.5),
        "nine_points_wide": (x, y, 3.0),
        "three_points_narrow": (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 4.0]), 0.05),
        "two_at_one_place": (torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0.0, 2.0, 4.0]), 0.5),
    }


_LOOKUP_CASES, _ERROR_CASES = _lookup_cases(), _error_cases()
