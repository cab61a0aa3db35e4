"""Writing a sequence one token at a time: greedily, with a beam of candidates, or drawn at random.

Any model can be decoded that gives, for ids (B, L), the scores (B, L, N) of the token after each: it reads the whole
text again for each token. One that keeps what it has read has `start(source)`, which gives a state, and
`step(ids, state)`, which takes some more ids; `state.select(rows)` keeps these rows of the batch.

On a GPU the steps of a `LanguageModel` are replayed as a CUDA graph, where they are all alike and there are enough.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook._inputs import check_integers, check_module, check_sizes, check_tensor, kind_of, not_right_padded
from attnbook.device import eval_mode
from attnbook.models._replay import Steps


def greedy(
    model: nn.Module, prompt: Tensor, source: Tensor | None = None, *, stop: int | None, length: int, pad: int = 0
) -> Tensor:
    """The likeliest next token, again and again: ids (B, up to `length`), the prompts (B, L) included.

    Shorter prompts have `pad` on their right. What is written ends with `stop`, unless that is None; from there on the
    row holds `pad`.

    >>> from attnbook.tasks.dates import date_reader
    >>> model, letters = date_reader()
    >>> source, prompt = letters.encode(["9 may 1962"]), torch.tensor([[1]])
    >>> letters.decode(greedy(model, prompt, source, stop=2, length=12))
    ['1962-05-09']
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

    >>> from attnbook.tasks.dates import date_reader
    >>> model, letters = date_reader()
    >>> source, prompt = letters.encode(["9 may 1962"]), torch.tensor([[1]])
    >>> letters.decode(beam(model, prompt, source, stop=2, length=12, width=4))
    ['1962-05-09']
    """
    check_sizes(width=width)
    _check(model, prompt, source, stop, pad, length)
    stop = -1 if stop is None else stop  # which is no token
    B, given = prompt.shape[0], (prompt != pad).sum(1)
    rows = torch.arange(B, device=prompt.device)
    first = rows.repeat_interleave(width)
    ids = prompt[first, : given.min()]
    finished = torch.zeros_like(first, dtype=torch.bool)
    total = torch.full((B, width), -torch.inf, device=prompt.device)
    total[:, 0] = 0  # as long as all candidates are the same, only the first has successors
    with eval_mode(model):
        step = Steps(_reader(model), source, length)
        step.select(first)
        unread = ids
        while ids.shape[1] < length and not step.over(finished):
            log_p = step(unread).float().log_softmax(-1)
            N = log_p.shape[-1]
            _check_tokens(stop, pad, N)
            forced = prompt[first, ids.shape[1]] if ids.shape[1] < prompt.shape[1] else torch.full_like(first, pad)
            free = ~finished & (forced == pad)
            log_p[:, pad] = -torch.inf
            told = torch.full_like(log_p, -torch.inf).scatter_(1, forced[:, None].long(), 0)
            log_p = torch.where(free[:, None], log_p, told)  # else the prompt's next token, or padding
            total, best = (total[..., None] + log_p.view(B, width, N)).flatten(1).topk(width)
            parents = (best // N + rows[:, None] * width).flatten()
            unread = (best % N).view(-1, 1)
            ids = torch.cat([ids[parents], unread], 1)
            finished = finished[parents] | (free[parents] & (unread[:, 0] == stop))
            if width > 1:
                step.select(parents)
    written = (ids != pad).sum(1).view(B, width) - given[:, None]
    chosen = (total / written.clamp(min=1) ** penalty).argmax(1)
    ids = ids.view(B, width, -1)[rows, chosen]
    return ids[:, : int((ids != pad).any(0).sum())]


@torch.no_grad()
def sample(
    model: nn.Module,
    prompt: Tensor,
    source: Tensor | None = None,
    *,
    stop: int | None,
    length: int,
    pad: int = 0,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int,
) -> Tensor:
    """Ids as from `greedy`, but each next token is drawn, with the probabilities that `filtered` gives.

    Row b has numbers of its own, one a token, which a generator on the CPU gives for the seed `seed` + b: what it
    writes does not depend on who else is in the batch. The token is the first at which the sum of probabilities, from
    token 0 on, exceeds the number. All that is in float64, so a seed gives the same text wherever the scores are the
    same.

    >>> from attnbook import LanguageModel
    >>> model, prompts = LanguageModel(N=9, D=8, heads=2, hidden=32, layers=1), torch.tensor([[1], [1]])
    >>> ids = sample(model, prompts, stop=None, length=5, seed=7)
    >>> again = sample(model, prompts[:1], stop=None, length=5, seed=8)
    >>> ids.shape, bool((ids[1] == again[0]).all())  # row 1 has the seed 7 + 1
    (torch.Size([2, 5]), True)
    """
    _check(model, prompt, source, stop, pad, length)
    check_integers(seed=seed)
    stop = -1 if stop is None else stop  # which is no token
    B, given = prompt.shape[0], (prompt != pad).sum(1)
    numbers = torch.stack([_numbers(seed + b, length) for b in range(B)])
    ids = prompt[:, : given.min()]
    finished = torch.zeros_like(given, dtype=torch.bool)
    with eval_mode(model):
        step = Steps(_reader(model), source, length)
        unread = ids
        while ids.shape[1] < length and not finished.all():
            scores = step(unread).cpu()
            _check_tokens(stop, pad, scores.shape[-1])
            scores = scores.index_fill(-1, torch.tensor(pad), -torch.inf)
            cumulative = filtered(scores, temperature, top_k, top_p).cumsum(-1)
            written = (ids.shape[1] - given).cpu()  # below 0 where the prompt goes on, and what is drawn is not used
            number = numbers[torch.arange(B), written, None]
            drawn = (cumulative <= number * cumulative[:, -1:]).sum(-1).to(ids)
            forced = prompt[:, ids.shape[1]] if ids.shape[1] < prompt.shape[1] else torch.full_like(drawn, pad)
            free = ~finished & (forced == pad)
            unread = torch.where(free, drawn, forced)[:, None]
            ids = torch.cat([ids, unread], 1)
            finished = finished | (free & (unread[:, 0] == stop))
    return ids[:, : int((ids != pad).any(0).sum())]


def filtered(scores: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """The probabilities (..., N) to draw a token with: softmax(scores / temperature), cut and made to sum to 1 again.

    temperature   below 1 the likely become likelier, down to 0, where the likeliest has everything
    top_k         only so many of the likeliest tokens are left
    top_p         of what that leaves, only the fewest of the likeliest whose probabilities reach top_p together

    >>> scores = torch.tensor([4.0, 3.0, 2.0, 0.0]).log()
    >>> filtered(scores[:3])
    tensor([0.4444, 0.3333, 0.2222], dtype=torch.float64)
    >>> filtered(scores, top_p=0.7)  # the second crosses it, and stays
    tensor([0.5714, 0.4286, 0.0000, 0.0000], dtype=torch.float64)

    In float64. Of equally likely tokens those with lower ids are taken first.
    """
    check_tensor("scores", scores, "(..., N)")
    if not 0 <= temperature < torch.inf:
        raise ValueError(f"temperature must be a number from 0 on, got {temperature}.")
    if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
        raise ValueError(f"top_k must be an integer, at least 1, or None for all; got {top_k}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be a probability above 0, up to 1; got {top_p}.")
    highest = scores.amax(-1, keepdim=True)
    if not highest.isfinite().all():
        raise ValueError(
            "scores must be numbers, or -inf where a token can't come, with a number in each row; some aren't."
        )
    if temperature == 0:
        temperature, top_k = 1.0, 1
    ordered, order = ((scores.double() - highest) / temperature).sort(dim=-1, descending=True, stable=True)
    p = ordered[..., :top_k].softmax(-1)
    if top_p is not None and top_p < 1:
        before = F.pad(p.cumsum(-1)[..., :-1], (1, 0))
        p = p.masked_fill(before >= top_p, 0)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(ordered).scatter(-1, order[..., :top_k], p)


def _reader(model: nn.Module) -> Any:
    """Returns the model if it decodes step by step with a cache, else a wrapper that reads everything again."""
    return model if hasattr(model, "start") and hasattr(model, "step") else _Rereading(model)


class _Rereading:
    """Anybody's model of ids (B, L), which keeps nothing: for each token it reads the whole text again."""

    def __init__(self, model: nn.Module):
        self.model = model

    def start(self, source: Tensor | None) -> "_Text":
        if source is not None:
            raise ValueError(f"{type(self.model).__name__} is called with ids alone; a source needs start and step.")
        return _Text()

    def step(self, ids: Tensor, state: "_Text") -> Tensor:
        state.ids = ids if state.ids is None else torch.cat([state.ids, ids], 1)
        output = self.model(state.ids)
        scores = getattr(output, "logits", output)  # of a model of transformers
        if not isinstance(scores, Tensor) or scores.ndim != 3 or scores.shape[:2] != state.ids.shape:
            rule = f"{type(self.model).__name__}(ids) must give the scores (B, L, N) of the token after each of the ids"
            raise ValueError(f"{rule} {tuple(state.ids.shape)}, got {kind_of(scores)}.")
        return scores[:, -ids.shape[1] :]


class _Text:
    """What was read so far."""

    def __init__(self):
        self.ids: Tensor | None = None

    def select(self, rows: Tensor) -> None:
        self.ids = None if self.ids is None else self.ids[rows]


def _numbers(seed: int, length: int) -> Tensor:
    """From 0 up to but not including 1, in float64."""
    return torch.rand(length, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _check_tokens(stop: int, pad: int, N: int) -> None:
    if not (0 <= pad < N and -1 <= stop < N):
        raise ValueError(f"stop and pad must be tokens from 0 to {N - 1}, got {stop} and {pad}.")


def _check(model: nn.Module, prompt: Tensor, source: Tensor | None, stop: int | None, pad: int, length: int) -> None:
    check_module("model", model)
    check_sizes(length=length)
    check_tensor("prompt", prompt, "of token ids (B, L)")
    if prompt.ndim != 2 or not len(prompt) or not 1 <= prompt.shape[1] <= length:
        hint = " One prompt? Try prompt[None]." if prompt.ndim == 1 else ""
        got = tuple(prompt.shape)
        raise ValueError(f"prompt must be token ids (B, L) with B ≥ 1, L from 1 to length = {length}, got {got}.{hint}")
    if source is not None and len(source) != len(prompt):
        raise ValueError(f"each prompt has its source, but there are {len(prompt)} and {len(source)}.")
    if stop == pad:
        raise ValueError(f"stop and pad must be two tokens, got {stop} for both: padding is never written.")
    real = prompt != pad
    if not real[:, 0].all() or not_right_padded(real):
        raise ValueError(
            f"every prompt needs a first token, and padding ({pad}) only on its right; got {prompt.tolist()}."
        )
