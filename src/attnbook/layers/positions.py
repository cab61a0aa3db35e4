"""Where a token stands: added to what it is (sinusoidal, learned), turned into it (rotary), or told to the scores."""

import torch
from torch import Tensor, nn

from attnbook._inputs import check_integers, check_lengths, check_sequences, check_sizes, check_width
from attnbook.device import runs_eagerly
from attnbook.layers.scaling import PositionInterpolation


def sinusoidal(
    length: int, D: int, *, start: int = 0, base: float = 10000.0, dtype: torch.dtype | None = None, device=None
) -> Tensor:
    """sin(i / base^(2j/D)) in column 2j and cos of the same in column 2j + 1, for positions i from `start` on.

    >>> sinusoidal(2, 4)  # position 0; then sin 1, cos 1, sin 0.01, cos 0.01
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])

    Computed in float64 and rounded once: at position 10,000 an angle in float32 is off in the fourth decimal.
    """
    _check_start(start)
    check_sizes(0, length=length)
    check_sizes(D=D)
    turns = _angles(start, start + length, D, base)
    table = torch.stack([turns.sin(), turns.cos()], -1).flatten(-2)[:, :D]
    return table.to(device, torch.get_default_dtype() if dtype is None else dtype)


class Table(nn.Module):
    """A table with a row for each position: as long as was ever needed, of the type and on the device of the input."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.empty(0), persistent=False)

    def build(self, length: int) -> Tensor:
        """The first rows, in float64."""
        raise NotImplementedError

    def rows(self, start: int | Tensor, length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
        """So many from `start` on; or those at the positions (L,), up to which `reach` has made the table."""
        if isinstance(start, Tensor):
            return self.table[start]
        _check_start(start)
        stop = start + length
        if not runs_eagerly() and not torch.compiler.is_compiling():  # a table made in a transform is good only there
            return self.build(stop)[start:].to(device, dtype)
        self.reach(stop, dtype, device)
        return self.table[start:stop]

    def reach(self, stop: int, dtype: torch.dtype, device: torch.device) -> None:
        """Make the table at least so long."""
        needed = max(int(stop) if isinstance(stop, Tensor) else stop, 1)  # torch.jit.trace has sizes as tensors
        if len(self.table) < needed or (self.table.dtype, self.table.device) != (dtype, device):
            longer = 1 << (max(needed, len(self.table)) - 1).bit_length()  # not again for each next token
            with torch.inference_mode(False):  # training may need it later
                self.table = self.build(longer).to(device, dtype)

    def _apply(self, *args, **kwargs):
        """Who moves or casts the model gets a new table, not a rounded old one."""
        super()._apply(*args, **kwargs)
        self.table = self.table.new_empty(0)
        return self


class SinusoidalPositions(Table):
    """x + sinusoidal positions, for sequences of any length.

    >>> SinusoidalPositions(D=4)(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])

    `start` is the position of the first token: in cached decoding, how many came before. It may be
    a tensor (L,) of positions, where it comes from a cache of fixed size.
    """

    def __init__(self, D: int, dropout: float = 0.0, *, base: float = 10000.0):
        super().__init__()
        check_sizes(D=D)
        self.D, self.base, self.dropout = D, base, nn.Dropout(dropout)

    def build(self, length: int) -> Tensor:
        return sinusoidal(length, self.D, base=self.base, dtype=torch.float64)

    def forward(self, x_BLD: Tensor, start: int | Tensor = 0) -> Tensor:
        _check(x_BLD, self.D)
        return self.dropout(x_BLD + self.rows(start, x_BLD.shape[-2], x_BLD.dtype, x_BLD.device))

    def extra_repr(self) -> str:
        return f"D={self.D}, base={self.base:g}"


class LearnedPositions(nn.Module):
    """x + a learned vector for each position, up to `max_length` of them and no further.

    >>> LearnedPositions(max_length=10, D=4)(torch.zeros(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, max_length: int, D: int, dropout: float = 0.0):
        super().__init__()
        check_sizes(max_length=max_length, D=D)
        self.table = nn.Parameter(torch.empty(max_length, D))
        nn.init.normal_(self.table, std=0.02)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BLD: Tensor, start: int | Tensor = 0) -> Tensor:
        longest, D = self.table.shape
        _check(x_BLD, D)
        if isinstance(start, Tensor):
            return self.dropout(x_BLD + self.table[start].to(x_BLD.dtype))
        _check_start(start)
        stop = start + x_BLD.shape[-2]
        if stop > longest:
            raise ValueError(
                f"positions {start} to {stop - 1} were asked for, but only 0 to {longest - 1} were learned. "
                "Make max_length longer before training, or take positions that go on, such as SinusoidalPositions."
            )
        return self.dropout(x_BLD + self.table[start:stop].to(x_BLD.dtype))


_PAIRS = {"halves": ((2, -1), -2), "neighbours": ((-1, 2), -1)}  # features as pairs, and which axis is the pair's


class Rotary(Table):
    """Turns each pair of features by an angle that grows with the position, i / base^(2j/K) for pair j.

    Two turned vectors' dot product then depends on how far apart they stand, not on where. Of the K features,

    "halves"      pairs j with j + K/2     (as in GPT-NeoX and LLaMA)
    "neighbours"  pairs 2j with 2j + 1     (as in the RoFormer paper and GPT-J)

    >>> x = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).expand(2, 4)
    >>> Rotary(4)(x)[1]
    tensor([0.5403, 0.0000, 0.8415, 0.0000])
    >>> Rotary(4, pairing="neighbours")(x)[1]
    tensor([0.5403, 0.8415, 0.0000, 0.0000])

    Weights trained with one pairing are wrong with the other, and nothing but the results would tell. For texts longer
    than those a model was trained on, `scaling` stretches positions: `PositionInterpolation`, `NTKAware` or `YaRN`.
    """

    def __init__(
        self,
        K: int,
        *,
        pairing: str = "halves",
        base: float = 10000.0,
        scaling: PositionInterpolation | None = None,
    ):
        super().__init__()
        check_integers(K=K)
        if K < 2 or K % 2:
            raise ValueError(f"rotary turns pairs of features, so K must be even and at least 2; got {K}.")
        if pairing not in _PAIRS:
            raise ValueError(f"pairing must be one of {', '.join(map(repr, _PAIRS))}; got {pairing!r}.")
        self.K, self.pairing, self.base, self.scaling = K, pairing, base, scaling

    def build(self, length: int) -> Tensor:
        scaling = self.scaling or PositionInterpolation(1)
        turns = torch.arange(length, dtype=torch.float64)[:, None] * scaling.frequencies(self.K, self.base)
        cos, sin = turns.cos(), turns.sin()
        _, axis = _PAIRS[self.pairing]
        own, other = (torch.stack(pair, axis).flatten(-2) for pair in ((cos, cos), (-sin, sin)))
        return torch.stack([own, other], 1) * scaling.loudness

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        """Queries or keys (..., L, K), the first of them at position `start`, or all at positions (L,)."""
        _check(x, self.K)
        wide = torch.promote_types(x.dtype, torch.float32)
        cos, sin = self.rows(start, x.shape[-2], wide, x.device).unbind(1)
        sizes, axis = _PAIRS[self.pairing]
        own = x.to(wide)
        other = own.unflatten(-1, sizes).flip(axis).flatten(-2)  # each feature's partner, in its place
        return (own * cos + other * sin).to(x.dtype)

    def extra_repr(self) -> str:
        scaled = "" if self.scaling is None else f", scaling={self.scaling}"
        return f"K={self.K}, pairing={self.pairing!r}, base={self.base:g}{scaled}"


class RelativeBias(nn.Module):
    """A learned number for each head and distance, added to the scores; beyond `max_distance` all share the last.

    >>> RelativeBias(heads=2, max_distance=3)(L=4, M=5).shape
    torch.Size([2, 4, 5])
    """

    def __init__(self, heads: int, max_distance: int):
        super().__init__()
        check_sizes(heads=heads)
        check_sizes(0, max_distance=max_distance)
        self.heads, self.max_distance = heads, max_distance
        self.table = nn.Parameter(torch.zeros(heads, 2 * max_distance + 1))

    def forward(self, L: int | Tensor, M: int) -> Tensor:
        """The bias (H, L, M); the queries are the last L of the M positions, or stand at the positions L."""
        distance_LM = _distance(L, M, self.table.device).clamp(-self.max_distance, self.max_distance)
        return self.table[:, distance_LM + self.max_distance]


class ALiBi(nn.Module):
    """Nothing to learn: each head takes its own fixed multiple of the distance from the scores.

    >>> ALiBi(heads=2).slopes
    tensor([0.0625, 0.0039])
    >>> ALiBi(heads=8)(L=1, M=4)[0]  # the first head takes off 0.5 a step
    tensor([[-1.5000, -1.0000, -0.5000, -0.0000]])
    """

    def __init__(self, heads: int):
        super().__init__()
        check_sizes(heads=heads)
        self.heads = heads
        self.register_buffer("slopes", _slopes(heads).to(torch.get_default_dtype()), persistent=False)

    def _apply(self, *args, **kwargs):
        """Who moves or casts the model gets exact slopes, not the old ones rounded."""
        super()._apply(*args, **kwargs)
        self.slopes = _slopes(self.heads).to(self.slopes)
        return self

    def forward(self, L: int | Tensor, M: int) -> Tensor:
        """The bias (H, L, M); the queries are the last L of the M positions, or stand at the positions L."""
        return -self.slopes[:, None, None] * _distance(L, M, self.slopes.device).abs()


def _slopes(heads: int) -> Tensor:
    """ALiBi's, in float64. The paper's recipe is for powers of two; other numbers borrow from twice as many heads."""
    power = 1 << (heads.bit_length() - 1)
    own = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    borrowed = [2 ** (-4 * (2 * h + 1) / power) for h in range(heads - power)]
    return torch.tensor(own + borrowed, dtype=torch.float64)


def _angles(start: int, stop: int, width: int, base: float) -> Tensor:
    """i / base^(2j/width) for each position i and pair j, in float64."""
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    return torch.arange(start, stop, dtype=torch.float64)[:, None] / base ** (pairs / width)


def _distance(L: int | Tensor, M: int, device: torch.device) -> Tensor:
    """How far ahead of the query the key stands: (L, M), negative for the past."""
    if not isinstance(L, Tensor):
        check_lengths(L, M)
        L = torch.arange(M - L, M, device=device)
    return torch.arange(M, device=device) - L[:, None]


def _check(x: Tensor, width: int) -> None:
    check_sequences(x=x)
    check_width("x", x, width, "The last axis holds the features, the one before it the positions.")


def _check_start(start: int) -> None:
    if start < 0:
        raise ValueError(f"start is the position of the first token, counted from 0; got {start}.")
