"""Writing a sequence one token at a time: greedily, or with a beam of candidates.

Any model can be decoded that has `start(source)`, which gives a state, and `step(ids, state)`, which takes some more
ids (B, L) and gives the scores (B, L, N) for the token after each. `state.select(rows)` keeps these rows of the batch.
"""

import torch
from torch import Tensor, nn

from attnbook._inputs import not_right_padded
from attnbook.device import eval_mode


def greedy(
    model: nn.Module, prompt: Tensor, source: Tensor | None = None, *, stop: int | None, length: int, pad: int = 0
) -> Tensor:
    """The likeliest next token, again and again: ids (B, up to `length`), the prompts (B, L) included.

    Shorter prompts have `pad` on their right. What is written ends with `stop`, unless that is None; from there on the
    row holds `pad`.
    """
    return beam(model, prompt, source, stop=stop, length=length, pad=pad, width=1)


@torch.no_grad()
def beam(
    model: nn.Module,
    prompt: Tensor,
    source: Tensor | None = None,
    *,
    stop: int | None,
    length: int,
    width: int,
    pad: int = 0,
    penalty: float = 0.0,
) -> Tensor:
    """Ids as from `greedy`, but in each step the `width` likeliest beginnings go on, not one.

    In the end the best of them is taken, by log-probability / tokens^penalty: with 0 the likeliest, with 1 the
    likeliest per token, which favours long ones. What the prompt says counts for nothing.
    """
    _check(prompt, source, stop, pad, length, width)
    stop = -1 if stop is None else stop  # which is no token
    B, given = prompt.shape[0], (prompt != pad).sum(1)
    rows = torch.arange(B, device=prompt.device)
    first = rows.repeat_interleave(width)
    ids = prompt[first, : given.min()]
    finished = torch.zeros_like(first, dtype=torch.bool)
    total = torch.full((B, width), -torch.inf, device=prompt.device)
    total[:, 0] = 0  # as long as all candidates are the same, only the first has successors
    with eval_mode(model):
        state = model.start(source)  # pyright: ignore[reportCallIssue] (a module that has start and step)
        state.select(first)
        unread = ids
        while ids.shape[1] < length and not finished.all():
            scores = model.step(unread, state)  # pyright: ignore[reportCallIssue]
            log_p = scores[:, -1].float().log_softmax(-1)
            N = log_p.shape[-1]
            if not (0 <= pad < N and -1 <= stop < N):
                raise ValueError(f"stop and pad must be tokens from 0 to {N - 1}, got {stop} and {pad}.")
            forced = prompt[first, ids.shape[1]] if ids.shape[1] < prompt.shape[1] else torch.full_like(first, pad)
            free = ~finished & (forced == pad)
            log_p[:, pad] = -torch.inf
            log_p[~free] = -torch.inf
            log_p[~free, forced[~free]] = 0  # the prompt's next token, or padding
            total, best = (total[..., None] + log_p.view(B, width, N)).flatten(1).topk(width)
            parents = (best // N + rows[:, None] * width).flatten()
            unread = (best % N).view(-1, 1)
            ids = torch.cat([ids[parents], unread], 1)
            finished = finished[parents] | (free[parents] & (unread[:, 0] == stop))
            if width > 1:
                state.select(parents)
    written = (ids != pad).sum(1).view(B, width) - given[:, None]
    chosen = (total / written.clamp(min=1) ** penalty).argmax(1)
    ids = ids.view(B, width, -1)[rows, chosen]
    return ids[:, : int((ids != pad).any(0).sum())]


def _check(prompt: Tensor, source: Tensor | None, stop: int | None, pad: int, length: int, width: int) -> None:
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}.")
    if not isinstance(prompt, Tensor) or prompt.ndim != 2 or not len(prompt) or not 1 <= prompt.shape[1] <= length:
        got = tuple(prompt.shape) if isinstance(prompt, Tensor) else f"a {type(prompt).__name__}"
        raise ValueError(f"prompt must be token ids (B, L) with B ≥ 1, L from 1 to length = {length}, got {got}.")
    if source is not None and len(source) != len(prompt):
        raise ValueError(f"each prompt has its source, but there are {len(prompt)} and {len(source)}.")
    if stop == pad:
        raise ValueError(f"stop and pad must be two tokens, got {stop} for both: padding is never written.")
    real = prompt != pad
    if not real[:, 0].all() or not_right_padded(real):
        raise ValueError(
            f"every prompt needs a first token, and padding ({pad}) only on its right; got {prompt.tolist()}."
        )
