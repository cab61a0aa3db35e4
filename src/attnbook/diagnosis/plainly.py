"""A layer whose parameters are made plain: each projection hands its input on. Then scores and heads can be read off.

With identity matrices for all projections a token's features are its query, its key and its value at once. If all
tokens but the last are zero, and that one has t in one feature, its own score is c·t² and the others' are 0, whatever
turns queries by their places. What comes out is t·w, and the logit of w grows with t² at the rate c. A token
that has t in all features has as many times that score as a head has features.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnbook.diagnosis.calling import Caller, attempt, copied, differs


@dataclass(frozen=True)
class Scores:
    """What a plain layer's scores are: c·(q·k), over so many features."""

    c: float
    head_width: int
    along_keys: bool  # a query that is zero has the same weights whatever the others ask


@dataclass(frozen=True)
class Measured:
    """A layer or a part of one, its width, its scores if they could be measured, and whether its heads are whole."""

    name: str
    D: int
    scores: Scores | None = None
    keeps_heads: bool = True


def measured(caller: Caller, name: str = "") -> Measured:
    """What can be read off a layer once it is made plain."""
    D = caller.widths[0]
    plain = attempt(lambda: made_plain(caller)) if len(set(caller.widths)) == 1 else None
    if plain is None:
        return Measured(name, D)
    return Measured(name, D, attempt(lambda: scores_of(plain)), attempt(lambda: keeps_heads(plain)) is not False)


def made_plain(caller: Caller) -> Caller:
    """The same layer, its projections identities, its biases and tables zero."""
    layer = copied(caller.layer)
    for module in layer.modules() if isinstance(layer, nn.Module) else ():
        for name, parameter in module.named_parameters(recurse=False):
            with torch.no_grad():
                if parameter.ndim == 2:
                    parameter.copy_(_identity(parameter) * (not isinstance(module, nn.Embedding)))
                elif parameter.ndim == 1:
                    parameter.fill_(0.0 if "bias" in name else 1.0)
    return caller.of(layer)


def scores_of(plain: Caller) -> Scores | None:
    """The scale of a plain layer's scores and the width of its heads; None if they are no scaled dot products."""
    D, n = plain.widths[0], 3
    t = plain.inputs(1, 1)[0].new_tensor([0.5, 0.75, 1.0, 0.1])
    x = t.new_zeros(len(t), n, D)
    x[:, -1, 0] = t
    x[-1, -1] = t[-1]  # all features at once: as many times the score as a head has features
    y = plain(x)
    w = y[:, -1, 0] / t
    logits = torch.where((w > 0) & (w < 1), w, torch.nan).logit()
    rates = logits[:3].diff() / t[:3].square().diff()
    c = rates.mean().item()
    if not math.isfinite(c) or c < 1e-6 or (rates - c).abs().max() > 1e-5 * c:
        return None
    K = ((logits[3] - logits[0]) / c + t[0].square()).item() / t[3].square().item()
    if not 0.9 < K < D + 0.1 or abs(K - round(K)) > 0.05:
        return None
    idle = y[:3, :-1, 0] / t[:3, None]
    return Scores(c, round(K), bool((idle - idle[:1]).abs().max() < 1e-6))


def keeps_heads(plain: Caller) -> bool:
    """Whether a feature comes out in the same places at every token, as it does where heads are parts of a token."""
    D, n = plain.widths[0], 7
    base = plain.inputs(1, n)[0]
    small = 1e-3 * base
    if plain(0 * base).any() or differs(plain(2 * small), 2 * plain(small), 1e-3):
        return True  # places are added to tokens, or tokens are normed: features don't stay themselves
    if not differs(plain(2 * base), 2 * plain(base), 1e-3):
        return True  # no weights that depend on tokens, as in a Fourier transform
    for feature in sorted({0, D // 3, D // 2, D - 1}):
        x = base.new_zeros(n, n, D)  # in text j, token j has the feature
        x[range(n), range(n), feature] = 1
        there = plain(x).abs() > 1e-9
        felt = there[there.any(-1)]
        if (felt != felt[:1]).any():
            return False
    return True


def _identity(parameter: Tensor) -> Tensor:
    """Ones on the diagonal; of three projections in one, on that of each."""
    rows, columns = parameter.shape
    options = {"dtype": parameter.dtype, "device": parameter.device}
    if rows == 3 * columns:
        return torch.eye(columns, **options).repeat(3, 1)
    if columns == 3 * rows:
        return torch.eye(rows, **options).repeat(1, 3)
    return torch.eye(rows, columns, **options)
