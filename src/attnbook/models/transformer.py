"""The Transformer: attention and feed-forward networks in blocks, blocks in stacks, stacks that read and write text.

`TextEncoder`, `LanguageModel` and `Transformer` take the sizes and options of `Parts`, of which they are made.
"""

import copy
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from attnbook._inputs import check_ids, check_options, check_sizes
from attnbook.layers.masks import causal, padding
from attnbook.layers.multihead import KVCache, MultiHeadAttention
from attnbook.layers.positions import ALiBi, LearnedPositions, Rotary, SinusoidalPositions


class FeedForward(nn.Sequential):
    """W_2 relu(W_1 x + b_1) + b_2, the same for every position, each by itself.

    >>> import torch
    >>> FeedForward(D=8, hidden=32)(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, D: int, hidden: int, dropout: float = 0.0, activation: Callable[[], nn.Module] = nn.ReLU):
        super().__init__(nn.Linear(D, hidden), activation(), nn.Dropout(dropout), nn.Linear(hidden, D))


class SwiGLU(nn.Module):
    """W_2 (silu(W_1 x) · W_3 x), the same for every position: half of what is computed opens or closes the other half.

    >>> import torch
    >>> SwiGLU(D=8, hidden=32)(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])

    There are three matrices and no biases: with hidden = 8/3 D as many parameters as `FeedForward` has with 4 D.
    """

    def __init__(self, D: int, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.gate, self.up = nn.Linear(D, hidden, bias=False), nn.Linear(D, hidden, bias=False)
        self.down, self.dropout = nn.Linear(hidden, D, bias=False), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.dropout(F.silu(self.gate(x)) * self.up(x)))


class EncoderBlock(nn.Module):
    """Self-attention, then a feed-forward network; around each a shortcut and a norm.

    norm="post"   norm(x + f(x)), as in the paper
    norm="pre"    x + f(norm(x)): x itself runs through unchanged, which makes deep stacks easier to train
    norm_layer    makes a norm of a width: nn.LayerNorm, as in the paper, or nn.RMSNorm
    feed_forward  `FeedForward`, which takes the activation, or `SwiGLU`, or what else takes D, hidden and dropout
    attention     `MultiHeadAttention`, or `LatentAttention` or `LinearAttention`

    >>> import torch
    >>> EncoderBlock(D=8, heads=2, hidden=32)(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])

    With a causal mask, and a cache to decode, it is the block of a model that reads only what it has written itself.
    Further options, such as rotary or kv_heads, go to its attention.
    """

    def __init__(
        self,
        D: int,
        heads: int,
        hidden: int,
        dropout: float = 0.1,
        *,
        norm: str = "post",
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        feed_forward: Callable[..., nn.Module] = FeedForward,
        activation: Callable[[], nn.Module] | None = None,
        bias: bool = True,
        attention: Callable[..., Any] = MultiHeadAttention,
        **options,
    ):
        super().__init__()
        check_sizes(hidden=hidden)
        known = [*dict.fromkeys(name for part in (EncoderBlock, attention) for name in signature(part).parameters)]
        known.remove("options")
        check_options(type(self).__name__, [name for name in options if name not in _PLACES], known)
        options = {name: option for name, option in options.items() if name in known}
        if norm not in ("pre", "post"):
            raise ValueError(f"norm must be 'pre' or 'post', got {norm!r}.")
        self.norm = norm
        self.self_attention = attention(D, heads, bias=bias, dropout=dropout, **options)
        self.self_attention_norm = norm_layer(D)
        self.feed_forward = feed_forward(
            D, hidden, dropout, **({} if activation is None else {"activation": activation})
        )
        self.feed_forward_norm = norm_layer(D)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: KVCache | None = None) -> Tensor:
        x = self._residual(self.self_attention_norm, x, lambda x: self.self_attention(x, mask=mask, cache=cache))
        return self._residual(self.feed_forward_norm, x, self.feed_forward)

    def new_caches(self) -> tuple[KVCache, ...]:
        """To decode step by step, one for each attention."""
        return (self.self_attention.new_cache(),)

    def _residual(self, norm: nn.Module, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        """norm(x + f(x)) or x + f(norm(x)), with dropout on f."""
        if self.norm == "pre":
            return x + self.dropout(f(norm(x)))
        return norm(x + self.dropout(f(x)))

    def extra_repr(self) -> str:
        return f"norm={self.norm!r}"


_PLACES = ("rotary", "score_bias")  # which attention that needs none of them may leave aside


class DecoderBlock(EncoderBlock):
    """The same, and in between cross-attention: every position looks into the memory, what an encoder made.

    >>> import torch
    >>> block, x_BLD, memory_BMD = DecoderBlock(D=8, heads=2, hidden=32), torch.ones(1, 3, 8), torch.ones(1, 5, 8)
    >>> block(x_BLD, memory_BMD, mask=causal(3)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, D: int, heads: int, hidden: int, dropout: float = 0.1, *, bias: bool = True, **options):
        super().__init__(D, heads, hidden, dropout, bias=bias, **options)
        elsewhere = (*_PLACES, "window", "sinks")  # distances mean nothing between two texts
        known = signature(MultiHeadAttention).parameters
        attention = {name: given for name, given in options.items() if name in known and name not in elsewhere}
        self.cross_attention = MultiHeadAttention(D, heads, bias=bias, dropout=dropout, **attention)
        self.cross_attention_norm = copy.deepcopy(self.self_attention_norm)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
        memory_cache: KVCache | None = None,
    ) -> Tensor:
        def look(x: Tensor) -> Tensor:
            return self.cross_attention(x, memory, memory_mask, memory_cache)

        x = self._residual(self.self_attention_norm, x, lambda x: self.self_attention(x, mask=mask, cache=cache))
        x = self._residual(self.cross_attention_norm, x, look)
        return self._residual(self.feed_forward_norm, x, self.feed_forward)

    def new_caches(self) -> tuple[KVCache, ...]:
        return (*super().new_caches(), self.cross_attention.new_cache())


class Stack(nn.Module):
    """Blocks one after the other, each a child by its number; after pre-norm blocks one more norm, of their kind."""

    def __init__(self, block: Callable[[int], EncoderBlock], layers: int):
        super().__init__()
        check_sizes(layers=layers)
        blocks = [block(number) for number in range(layers)]
        for number, module in enumerate(blocks):
            self.add_module(str(number), module)
        first = blocks[0]
        self.norm = copy.deepcopy(first.self_attention_norm) if first.norm == "pre" else nn.Identity()

    def __len__(self) -> int:
        return len(self._modules) - 1

    def new_caches(self) -> list[tuple[KVCache, ...]]:
        return [block.new_caches() for block in self.children() if isinstance(block, EncoderBlock)]

    def forward(self, x: Tensor, *given, caches: list[tuple[KVCache, ...]] | None = None) -> Tensor:
        """Each block is given the same, and caches of its own."""
        for number in range(len(self)):
            x = self.get_submodule(str(number))(x, *given, *(() if caches is None else caches[number]))
        return self.norm(x)


class Tokens(nn.Module):
    """Token ids to vectors, their embeddings and where they stand; vectors back to a score for each token.

    The embeddings are multiplied by √D, as in the paper, unless `scale` is False.

    >>> import torch
    >>> tokens = Tokens(N=10, D=8, positions=SinusoidalPositions(8))
    >>> x_BLD = tokens(torch.tensor([[3, 1, 4]]))
    >>> tokens.scores(x_BLD).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, N: int, D: int, positions: nn.Module | None = None, dropout: float = 0.0, *, scale: bool = True):
        super().__init__()
        check_sizes(N=N, D=D)
        self.embedding, self.positions, self.dropout = nn.Embedding(N, D), positions, nn.Dropout(dropout)
        self.scale = scale
        nn.init.normal_(self.embedding.weight, std=D**-0.5)

    def forward(self, ids: Tensor, start: int | Tensor = 0) -> Tensor:
        N, D = self.embedding.weight.shape
        check_ids(ids, N)
        x = self.embedding(ids) * (D**0.5 if self.scale else 1)
        return self.dropout(x if self.positions is None else self.positions(x, start))

    def scores(self, x: Tensor) -> Tensor:
        return x @ self.embedding.weight.mT


class Parts:
    """What a model is made of, in the sizes of the paper's base model unless told otherwise.

    positions         "sinusoidal" or "learned" (of the first 1,024), added to the embeddings; "rotary" or "alibi", told
                      to self-attention; a `Rotary` or `LearnedPositions` of your own; or "none"
    scale_embeddings  by √D, as in the paper
    pattern           options of single blocks, taken in turn: [{"window": 4}, {"window": 4}, {}] lets each third layer
                      see everything
    options           of each block, such as norm, feed_forward and kv_heads

    >>> parts = Parts(D=8, heads=2, hidden=32, layers=3, norm="pre")
    >>> len(parts.stack(DecoderBlock)), parts.tokens(10).embedding
    (3, Embedding(10, 8))
    """

    def __init__(
        self,
        D: int = 512,
        heads: int = 8,
        hidden: int = 2048,
        layers: int = 6,
        dropout: float = 0.1,
        *,
        positions: str | Rotary | LearnedPositions = "sinusoidal",
        scale_embeddings: bool = True,
        pattern: Sequence[dict[str, Any]] = ({},),
        **options,
    ):
        added, relative = _positions(positions, D, heads)
        self.D, self.layers, self.dropout, self.added, self.scale = D, layers, dropout, added, scale_embeddings
        self.block: dict[str, Any] = dict(D=D, heads=heads, hidden=hidden, dropout=dropout, **relative, **options)
        if not pattern:
            raise ValueError(
                "pattern has the options of at least one block; for blocks that are all alike, leave it out."
            )
        self.pattern = pattern

    def tokens(self, N: int) -> Tokens:
        return Tokens(N, self.D, self.added, self.dropout, scale=self.scale)

    def stack(self, kind: type[EncoderBlock]) -> Stack:
        return Stack(lambda number: kind(**self.block | self.pattern[number % len(self.pattern)]), self.layers)


class State:
    """What decoding keeps between two steps: a stack's `new_caches()`, and the source as read, if there is one.

    >>> import torch
    >>> model = LanguageModel(N=20, D=8, heads=2, hidden=32, layers=2)
    >>> state = model.start()
    >>> scores_BLN = model.step(torch.tensor([[5, 6, 7]]), state)
    >>> len(state), len(state.caches)  # three tokens, a cache for each of two blocks
    (3, 2)
    """

    def __init__(
        self, caches: list[tuple[KVCache, ...]], memory: Tensor | None = None, memory_mask: Tensor | None = None
    ):
        self.caches = caches
        self.memory, self.memory_mask = memory, memory_mask

    def __len__(self) -> int:
        """How many tokens it has seen."""
        return len(self.caches[0][0])

    def advance(self) -> int | Tensor:
        """Where the next tokens stand: after those it has seen. With what is of fixed size, a tensor (1,), moved on."""
        return len(self)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        for caches in self.caches:
            for cache in caches:
                cache.select(rows)
        self.memory = None if self.memory is None else self.memory[rows]
        self.memory_mask = None if self.memory_mask is None else self.memory_mask[rows]


class TextEncoder(nn.Module):
    """Reads text in both directions: a vector (B, L, D) for each token, which knows the others. `pad` is not read.

    >>> import torch
    >>> TextEncoder(N=20, D=8, heads=2, hidden=32, layers=1)(torch.tensor([[5, 6, 7, 0]])).shape
    torch.Size([1, 4, 8])

    Sizes and options are those of `Transformer`.
    """

    def __init__(self, N: int, *sizes, pad: int = 0, **options):
        super().__init__()
        self.pad, parts = pad, Parts(*sizes, **options)
        self.tokens, self.encoder = parts.tokens(N), parts.stack(EncoderBlock)

    def forward(self, ids: Tensor) -> Tensor:
        return self.encoder(self.tokens(ids), padding(ids, pad=self.pad))


class LanguageModel(nn.Module):
    """Writes on: the scores (B, L, N) for the token after each one, from those before.

    >>> import torch
    >>> LanguageModel(N=20, D=8, heads=2, hidden=32, layers=1)(torch.tensor([[5, 6, 7]])).shape
    torch.Size([1, 3, 20])

    Sizes and options are those of `Transformer`.
    """

    def __init__(self, N: int, *sizes, **options):
        super().__init__()
        parts = Parts(*sizes, **options)
        self.tokens, self.decoder = parts.tokens(N), parts.stack(EncoderBlock)

    def forward(self, ids: Tensor) -> Tensor:
        return self.step(ids)

    def start(self, source: None = None) -> State:
        """To decode step by step: empty caches."""
        if source is not None:
            raise ValueError("a LanguageModel reads no source; put what it is to go on from into the prompt.")
        return State(self.decoder.new_caches())

    def step(self, ids: Tensor, state: State | None = None) -> Tensor:
        """The scores after each of some more tokens."""
        seen, caches = (0, None) if state is None else (state.advance(), state.caches)
        x = self.tokens(ids, seen)
        return self.tokens.scores(self.decoder(x, _causal_after(seen, x), caches=caches))


class Transformer(nn.Module):
    """Reads a source, writes a target: the scores (B, L, N) for the token after each one of the target so far.

    >>> import torch
    >>> model = Transformer(N=20, D=8, heads=2, hidden=32, layers=1)
    >>> source_BM, target_BL = torch.tensor([[5, 6, 7, 0]]), torch.tensor([[1, 8]])
    >>> model(source_BM, target_BL).shape
    torch.Size([1, 2, 20])

    `Transformer(37_000)` is the paper's base model. Source and target share one vocabulary and one table of embeddings,
    unless `target_N` gives the target its own; the scores are products with that table. Token `pad` of the source is
    not read.

    sizes             D, heads, hidden, layers, dropout: 512, 8, 2048, 6, 0.1 as in the paper, unless they are given
    positions         "sinusoidal", or "learned", "rotary", "alibi", "none", a `Rotary` or `LearnedPositions` of yours
    scale_embeddings  by √D, as in the paper, or not
    options           of each block: see `EncoderBlock`
    """

    def __init__(self, N: int, *sizes, target_N: int | None = None, pad: int = 0, **options):
        super().__init__()
        self.pad, parts = pad, Parts(*sizes, **options)
        self.source = parts.tokens(N)
        self.target = self.source if target_N is None else parts.tokens(target_N)
        self.encoder, self.decoder = parts.stack(EncoderBlock), parts.stack(DecoderBlock)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self._decode(target, *self.encode(source))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The memory (B, M, D), and the mask (B, 1, M) of what is real in it."""
        x, mask = self.source(source), padding(source, pad=self.pad)
        return self.encoder(x, mask), mask

    def start(self, source: Tensor) -> State:
        """To decode step by step: the source as read, and empty caches."""
        return State(self.decoder.new_caches(), *self.encode(source))

    def step(self, target: Tensor, state: State) -> Tensor:
        """The scores after each of some more tokens."""
        return self._decode(target, state.memory, state.memory_mask, len(state), state.caches)

    def _decode(
        self, target: Tensor, memory: Tensor | None, memory_mask: Tensor | None, seen: int = 0, caches=None
    ) -> Tensor:
        x = self.target(target, seen)
        mask = _causal_after(seen, x)
        return self.target.scores(self.decoder(x, memory, mask, memory_mask, caches=caches))


def _causal_after(seen: Any, x: Tensor) -> Tensor | None:
    """What more tokens x (..., L, D) may see after so many; a single one sees them all, which takes no mask."""
    L = x.shape[-2]
    return None if L == 1 else causal(L, seen + L, device=x.device)


def _positions(
    kind: str | Rotary | LearnedPositions, D: int, heads: int
) -> tuple[nn.Module | None, dict[str, nn.Module]]:
    """What is added to the embeddings, and what self-attention is told instead."""
    match kind:
        case "sinusoidal":
            return SinusoidalPositions(D), {}
        case "learned":
            return LearnedPositions(1024, D), {}
        case "rotary":
            return None, {"rotary": Rotary(D // max(1, heads))}
        case Rotary():
            return None, {"rotary": kind}
        case LearnedPositions():
            return kind, {}
        case "alibi":
            return None, {"score_bias": ALiBi(heads)}
        case "none":
            return None, {}
    raise ValueError(
        "positions must be 'sinusoidal', 'learned', 'rotary', 'alibi' or 'none', or a Rotary or LearnedPositions; "
        f"got {kind!r}."
    )
