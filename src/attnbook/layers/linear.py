"""Linear attention: the softmax taken away, so that all of the past fits into one matrix, which may fade or be mended.

Each key writes its value into the state, each query reads from it: S_i = a_i S_{i-1} + k_i u_iᵀ and y_i = q_i S_i.
"""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from attnbook._inputs import check_device_and_dtype, check_fits, check_mask, check_sequences, check_sizes, check_width
from attnbook.device import may_look
from attnbook.errors import ShapeError
from attnbook.layers.masks import causal, is_causal


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
    *,
    state: Tensor | None = None,
    chunk: int = 64,
) -> tuple[Tensor, Tensor]:
    """y_i = q_i S_i with S_i = a_i S_{i-1} + k_i v_iᵀ, causal; and the last state (..., K, V), to go on from.

    >>> q_LK = k_LK = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> v_LV = torch.tensor([[1.0], [2.0], [3.0]])
    >>> linear_attention(q_LK, k_LK, v_LV)[0].flatten()  # one key twice: its values add up
    tensor([1., 2., 4.])
    >>> linear_attention(q_LK, k_LK, v_LV, beta=torch.ones(3, 1))[0].flatten()  # or the new one replaces the old
    tensor([1., 2., 3.])

    decay   log a, at most 0: (..., L, 1), one for the state, or (..., L, K), one for each feature of the keys
    beta    (..., L, 1), the delta rule: of what the state, faded, already holds for k_i a share β_i is replaced by v_i

                   no decay            one for the state          one for each feature
    no beta        linear attention    retention, Mamba-2         gated linear attention
    with beta      DeltaNet            Gated DeltaNet             Kimi Delta Attention

    A chunk is computed as attention is, all queries and keys at once, and hands its state to the next: `chunk=1` is the
    recurrence, `chunk=L` the parallel form, and all give the same numbers. Nothing below float32 is added up.
    """
    _check(q, k, v, decay, beta, state)
    check_sizes(chunk=chunk)
    given, wide = v.dtype, torch.promote_types(v.dtype, torch.float32)
    decay = q.new_zeros(*q.shape[:-1], 1) if decay is None else decay
    S = q.new_zeros(*q.shape[:-2], q.shape[-1], v.shape[-1]) if state is None else state
    q, k, v, decay, S = (x.to(wide) for x in (q, k, v, decay, S))
    beta, outputs = None if beta is None else beta.to(wide), []
    with torch.autocast(q.device.type, enabled=False):
        for start in range(0, max(q.shape[-2], 1), chunk):
            now = (..., slice(start, start + chunk), slice(None))
            output, S = _chunk(q[now], k[now], v[now], decay[now], None if beta is None else beta[now], S)
            outputs.append(output)
    return torch.cat(outputs, -2).to(given), S


def _chunk(q: Tensor, k: Tensor, v: Tensor, decay: Tensor, beta: Tensor | None, state: Tensor) -> tuple[Tensor, Tensor]:
    """What is read from the state as it was, faded, and from what the chunk itself writes; and the state after it."""
    fallen = decay.cumsum(-2)
    faded = fallen.exp()
    if beta is not None:  # what is written depends on what earlier keys of the chunk have written
        v = beta * (v - (k * faded) @ state)
        v = torch.linalg.solve_triangular(beta * _scores(k, k, fallen), v, upper=False, unitriangular=True)
    output = (q * faded) @ state + _scores(q, k, fallen) @ v
    end = decay.sum(-2, keepdim=True)
    return output, end.exp().mT * state + (k * (end - fallen).exp()).mT @ v


def _scores(q: Tensor, k: Tensor, fallen: Tensor) -> Tensor:
    """q_i·k_j, faded from j to i: (..., L, L), and 0 for the keys to come."""
    fall = fallen[..., :, None, :] - fallen[..., None, :, :]
    fade = fall.masked_fill(~causal(q.shape[-2], device=q.device)[..., None], -torch.inf).exp()
    if fade.shape[-1] == 1:
        return (q @ k.mT) * fade[..., 0]
    return torch.einsum("...ik, ...jk, ...ijk -> ...ij", q, k, fade)


def scan(a: Tensor, b: Tensor) -> Tensor:
    """h_i = a_i h_{i-1} + b_i over the axis before the last, (..., L, width), in ⌈log₂ L⌉ steps.

    >>> a_L1, b_L1 = torch.tensor([[0.5], [0.5], [0.5]]), torch.tensor([[8.0], [0.0], [1.0]])
    >>> scan(a_L1, b_L1).flatten()
    tensor([8., 4., 3.])

    Two moves in a row are one, (a, b) then (a', b') is (a'a, a'b + b'): so each position takes in the one before
    it, then what the second before it has gathered, the fourth, the eighth.
    """
    check_sequences(b=b, a=a)
    if a.shape != b.shape:
        raise ShapeError(
            "a", "(..., L, width)", b.shape, a.shape, "There is a factor for each number of b; try .expand."
        )
    reach, L = 1, b.shape[-2]
    while reach < L:
        before_a, before_b = (F.pad(x[..., : L - reach, :], (0, 0, reach, 0)) for x in (a, b))
        a, b, reach = a * before_a, a * before_b + b, 2 * reach
    return b


class RunningState:
    """What a `LinearAttention` keeps of all positions so far: as many numbers after a million tokens as after one.

    >>> layer, cache, x_BLD = LinearAttention(D=8, heads=2), RunningState(), torch.ones(1, 3, 8)
    >>> for token in x_BLD.split(1, dim=1):
    ...     y = layer(token, cache=cache)
    >>> len(cache), cache.nbytes
    (3, 160)
    """

    def __init__(self):
        self.state: Tensor | None = None
        self.tail: Tensor | None = None  # the last inputs of the convolution
        self.seen = 0

    def __len__(self) -> int:
        return self.seen

    @property
    def nbytes(self) -> int:
        return sum(held.nbytes for held in (self.state, self.tail) if held is not None)

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        self.state = None if self.state is None else self.state[rows]
        self.tail = None if self.tail is None else self.tail[rows]


_DECAYS = (None, "fixed", "state", "feature")
_FEATURES = ("elu", "unit", "none")


class LinearAttention(nn.Module):
    """`linear_attention` as a layer of several heads: what a step of decoding costs does not grow with the text.

    >>> layer = LinearAttention(D=8, heads=2, decay="state", delta=True)
    >>> layer(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])

    d_k, d_v         width of one head's keys and of its values, D / heads unless given; its state has d_k × d_v numbers
    decay            how the past fades: None, not at all; "fixed", each head at a rate of its own; learned from the
                     token, one for the "state" of a head or one for each "feature" of its keys
    delta            whether a value replaces what the state holds for its key, or is added to it
    convolution      so many tokens, the last one included, are mixed, feature by feature, before they are projected
    gated            whether a head's output is opened and closed by the token
    features         what is made of queries and keys: "elu", elu + 1, with outputs divided by the sum of weights, as in
                     the first linear attention; "unit", unit length, with a norm on each head's output instead; or
                     "none", as they are, with that norm, as in RetNet. Unless told, the first with neither decay nor
                     delta, and the second with either
    bias, dropout    a bias in the projections; the share of the heads' outputs to drop in training

    The layer is causal; a mask is taken for the sake of blocks, and must say no more than that.
    """

    def __init__(
        self,
        D: int,
        heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        decay: str | None = None,
        delta: bool = False,
        convolution: int = 1,
        gated: bool = False,
        features: str | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(D=D, heads=heads, convolution=convolution)
        if D % heads and (d_k is None or d_v is None):
            raise ValueError(f"D = {D} does not split into {heads} heads; try another, or give d_k and d_v.")
        d_k, d_v = D // heads if d_k is None else d_k, D // heads if d_v is None else d_v
        check_sizes(d_k=d_k, d_v=d_v)
        if decay not in _DECAYS:
            raise ValueError(f"decay must be one of {', '.join(map(repr, _DECAYS))}; got {decay!r}.")
        if features is None:
            features = "unit" if delta or decay is not None else "elu"
        if features not in _FEATURES:
            raise ValueError(f"features must be one of {', '.join(map(repr, _FEATURES))}; got {features!r}.")
        if features != "unit" and delta:
            raise ValueError("the delta rule needs features='unit': what it replaces is held for keys of unit length.")
        self.heads, self.decay, self.delta, self.features = heads, decay, delta, features
        self.convolution, self.mix = convolution, nn.Conv1d(D, D, convolution, groups=D) if convolution > 1 else None
        self.query, self.key = nn.Linear(D, heads * d_k, bias), nn.Linear(D, heads * d_k, bias)
        self.value, self.output = nn.Linear(D, heads * d_v, bias), nn.Linear(heads * d_v, D, bias)
        self.fade = nn.Linear(D, heads * (d_k if decay == "feature" else 1)) if decay in ("state", "feature") else None
        if self.fade is not None:
            nn.init.zeros_(self.fade.weight)
            with torch.no_grad():  # at first each head forgets at the rate it would have were it fixed
                self.fade.bias.copy_(_rates(heads).logit().repeat_interleave(len(self.fade.bias) // heads))
        self.beta = nn.Linear(D, heads) if delta else None
        self.gate = nn.Linear(D, heads * d_v) if gated else None
        self.norm = None if features == "elu" else nn.RMSNorm(d_v)  # None: divided by the sum of weights
        self.dropout = nn.Dropout(dropout)

    def new_cache(self) -> RunningState:
        return RunningState()

    def forward(self, x: Tensor, mask: Tensor | None = None, cache: RunningState | None = None) -> Tensor:
        past = 0 if cache is None else len(cache)
        self._check(x, mask, past)
        mixed = self._mixed(x, cache)
        q, k, v = (self._heads(layer(mixed)) for layer in (self.query, self.key, self.value))
        if self.features == "elu":
            q, k = F.elu(q) + 1, F.elu(k) + 1
        elif self.features == "unit":
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        if self.norm is None:
            v = F.pad(v, (0, 1), value=1.0)
        beta = None if self.beta is None else self._heads(self.beta(mixed)).sigmoid()
        y, state = linear_attention(q, k, v, self._decay(mixed), beta, state=None if cache is None else cache.state)
        if cache is not None:
            cache.state, cache.seen = state, past + x.shape[-2]
        y = y[..., :-1] / y[..., -1:] if self.norm is None else self.norm(y.to(self.norm.weight.dtype))
        y = rearrange(y, "... H L V -> ... L (H V)").to(x.dtype)
        return self.output(self.dropout(y if self.gate is None else y * F.silu(self.gate(x))))

    def _heads(self, x: Tensor) -> Tensor:
        """Splits vectors into heads, in float32 at least, because many of them will be added up."""
        return rearrange(x, "... L (H K) -> ... H L K", H=self.heads).to(torch.promote_types(x.dtype, torch.float32))

    def _mixed(self, x: Tensor, cache: RunningState | None) -> Tensor:
        """The last few tokens as one, feature by feature; before the first there are zeros."""
        if self.mix is None:
            return x
        tail = None if cache is None else cache.tail
        longer = F.pad(x, (0, 0, self.convolution - 1, 0)) if tail is None else torch.cat([tail, x], -2)
        if cache is not None:
            cache.tail = longer[..., x.shape[-2] :, :]
        return self.mix(longer.view(-1, *longer.shape[-2:]).mT).mT.view(x.shape)

    def _decay(self, x: Tensor) -> Tensor | None:
        """log a, (..., H, L, 1 or K)."""
        if self.decay == "fixed":
            wide = torch.promote_types(x.dtype, torch.float32)
            rates = _rates(self.heads, dtype=wide, device=x.device).log()
            return rates[:, None, None].expand(*x.shape[:-2], -1, x.shape[-2], -1)
        return None if self.fade is None else F.logsigmoid(self._heads(self.fade(x)))

    def _check(self, x: Tensor, mask: Tensor | None, past: int) -> None:
        check_sequences(x=x)
        check_fits("x", x, self.query, "x")
        if mask is None or (not past and is_causal(mask)):
            return
        L = x.shape[-2]
        check_mask(mask, x, (*x.shape[:-2], L, past + L))
        if may_look(mask) and (mask != causal(L, past + L, device=mask.device)).any():
            raise ValueError(
                "linear attention can't be masked: it sees what came before, and only that; try causal(L)."
            )

    def extra_repr(self) -> str:
        return f"heads={self.heads}, decay={self.decay!r}, delta={self.delta}, features={self.features!r}"


def _rates(heads: int, **options) -> Tensor:
    """What is left after one token, for each head: 1 - 2^-5 for the first, 1 - 2^-9 for the last, as in RetNet."""
    return 1 - 2 ** -torch.linspace(5, 9, heads, **options)


def _check(q: Tensor, k: Tensor, v: Tensor, decay: Tensor | None, beta: Tensor | None, state: Tensor | None) -> None:
    check_sequences(q=q, k=k, v=v)
    K = q.shape[-1]
    check_width("k", k, K, "A dot product needs queries and keys of one width; try a linear layer on either.")
    if k.shape[-2] != q.shape[-2]:
        raise ShapeError(
            "k", "(..., L, K)", q.shape, k.shape, "There is a key for each query: each looks back from it."
        )
    if state is not None and state.shape != (shape := (*q.shape[:-2], K, v.shape[-1])):
        raise ShapeError("state", "(..., K, V)", shape, state.shape, "It is what an earlier call returned.")
    for name, x, widths in (("decay", decay, (1, K)), ("beta", beta, (1,))):
        if x is not None:
            check_device_and_dtype(q, "the queries", **{name: x})
            if x.shape[:-1] != q.shape[:-1] or x.shape[-1] not in widths:
                hint = f"It has one number for each query; try {name}[..., None], or .expand."
                raise ShapeError(name, "(..., L, 1)", (*q.shape[:-1], 1), x.shape, hint)
