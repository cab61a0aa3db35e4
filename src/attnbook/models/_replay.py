"""Steps of decoding that are replayed: on a GPU a token's work is short, and starting its kernels one by one is long.

A CUDA graph starts them all at once. It holds operations and where their tensors lie, no Python: so every step must be
the same operations on the same memory. Keys and values get theirs at once (`FixedCache`), and where the next one is
written stands in a tensor. A graph is captured by PyTorch's rules: after some steps on another stream, with inputs that
stay where they are, without a look at a number.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.layers.multihead import FixedCache, MultiHeadAttention
from attnbook.layers.positions import ALiBi, LearnedPositions, RelativeBias, Rotary, SinusoidalPositions, Table
from attnbook.models.transformer import EncoderBlock, FeedForward, LanguageModel, Stack, State, SwiGLU, Tokens

DEVICES = ("cuda",)
LEAST = 32  # tokens to write: a capture takes as long as a few plain steps, of which there are WARM_UP before it
WARM_UP = 3  # plain steps on another stream: what libraries set up at their first call, a graph must not hold
ROOM = 256  # positions at first; then twice as many, each time with a new graph, so that at most half of them are empty
LOOK = 16  # steps between two looks at whether all texts have ended, for which Python waits for the GPU

_KNOWN = (ALiBi, EncoderBlock, FeedForward, LanguageModel, LearnedPositions, MultiHeadAttention, RelativeBias, Rotary)
_KNOWN += (SinusoidalPositions, Stack, SwiGLU, Tokens)


class Steps:
    """The steps of a model and the state between them: plain ones, or from the second on, where it pays, replayed."""

    def __init__(self, model: Any, source: Tensor | None, length: int):
        self.model, self.length = model, length
        self.state: Any = model.start(source)
        self.count = 0
        self.replayed: Replayed | None = None

    def __call__(self, ids: Tensor) -> Tensor:
        """The scores (B, N) for the token after these. They hold until the next call."""
        self.count += 1
        model, state = self.model, self.state
        if self.count == 2 and isinstance(model, LanguageModel) and _pays(model, state, ids, self.length):
            self.replayed = Replayed(model, state, ids, self.length)
        if self.replayed is None:
            return model.step(ids, state)[:, -1]
        return self.replayed(ids)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        (self.state if self.replayed is None else self.replayed.state).select(rows)

    def over(self, finished: Tensor) -> bool:
        """Whether all texts have ended; or some steps later, where to know it at once takes longer than to go on."""
        return (self.replayed is None or self.count % LOOK == 0) and bool(finished.all())


class FixedState(State):
    """The state of a LanguageModel that has read something, in memory for `room` tokens that stays where it is."""

    def __init__(self, state: State, room: int):
        seen, held = len(state), state.caches[0][0].keys
        if held is None:
            raise ValueError("a state of fixed size goes on from one that has read a token at least.")
        self.place = torch.full((1,), seen - 1, device=held.device)
        self.hidden = held.new_full((1, room), -torch.inf)
        self.hidden[:, :seen] = 0
        super().__init__([(FixedCache(cache, self.place, self.hidden),) for (cache,) in state.caches])

    def advance(self) -> Tensor:
        self.place += 1
        self.hidden.index_fill_(-1, self.place, 0)
        return self.place


class Replayed:
    """A model's step for one more token in each row, captured once for each room."""

    def __init__(self, model: LanguageModel, state: State, ids: Tensor, length: int):
        self.model, self.state, self.ids, self.length = model, state, ids.clone(), length
        self.seen, self.room, self.warm = len(state), 0, 0
        self.refused = False
        self.graph: tuple[Callable[[], None], Tensor] | None = None

    def __call__(self, ids: Tensor) -> Tensor:
        if self.seen >= self.room:
            self._take_room()
        self.seen += 1
        self.ids.copy_(ids)
        if self.warm < WARM_UP:
            self.warm += 1
            return aside(self._step, ids.device)
        if self.graph is None and not self.refused:
            try:
                self.graph = captured(self._step, ids.device)
            except RuntimeError as error:
                self.refused = True
                warnings.warn(f"Decoding goes on without a CUDA graph, and slower: {error}", stacklevel=2)
        if self.graph is None:
            return self._step()
        replay, scores = self.graph
        replay()
        return scores

    def _step(self) -> Tensor:
        return self.model.step(self.ids, self.state)[:, -1]

    def _take_room(self) -> None:
        room = min(self.length, max(ROOM, 2 * self.seen))
        self.room = -(-room // 16) * 16  # kernels copy what is added to the scores if its rows are not of such a length
        self.state = FixedState(self.state, self.room)  # which waits for the old graph to end
        self.graph = None
        for part in self.model.modules():
            if isinstance(part, Table):
                part.reach(self.room, part.table.dtype, part.table.device)


def aside(work: Callable[[], Tensor], device: torch.device) -> Tensor:
    """Work done on another stream, and waited for by this one."""
    with torch.cuda.device(device):
        here, other = torch.cuda.current_stream(), torch.cuda.Stream()
        other.wait_stream(here)
        with torch.cuda.stream(other):
            result = work()
        here.wait_stream(other)
        result.record_stream(here)
    return result


def captured(work: Callable[[], Tensor], device: torch.device) -> tuple[Callable[[], None], Tensor]:
    """What does the work again, and where its result then lies. Nothing is computed yet."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = work()
    return graph.replay, result


def _pays(model: LanguageModel, state: State, ids: Tensor, length: int) -> bool:
    """Whether there are enough steps, and all of them the same."""
    return (
        ids.device.type in DEVICES
        and length - len(state) >= LEAST
        and not torch.is_autocast_enabled(ids.device.type)  # it keeps what it casts, inside the graph or outside
        and all(_same_each_time(part, length) for part in model.modules())
    )


def _same_each_time(part: nn.Module, length: int) -> bool:
    """Returns True if a CUDA graph can replay the module: it treats every token alike, and on the device alone."""
    if part._forward_hooks or part._forward_pre_hooks or "forward" in vars(part):
        return False
    if isinstance(part, MultiHeadAttention) and (part.window is not None or part._watchers):
        return False
    if isinstance(part, LearnedPositions) and len(part.table) < length:  # the plain way tells where they end
        return False
    return type(part) in _KNOWN or type(part).__module__.startswith("torch.nn.modules.")
