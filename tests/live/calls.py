"""Random calls of everything that Handful knows by name, with what PyTorch answers."""

import math
import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

ODD = (math.nan, math.inf, -math.inf)
IN_F = {
    *("normalize", "cosine_similarity", "logsigmoid", "cross_entropy", "nll_loss", "mse_loss", "layer_norm", "linear"),
    *("gelu", "silu", "pad", "softplus", "one_hot", "embedding", "scaled_dot_product_attention"),
}
NO_GRADIENT = {"cummin", "prod", "cumprod", "sort", "topk", "std", "remainder", "floor_divide", "detach"}
CHANCE = {"multinomial", "rand", "randn", "randn_like", "randint", "randperm", "manual_seed", "empty", "empty_like"}


class Draw:
    """Arguments by chance, always the same for a seed."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.draw = torch.Generator().manual_seed(seed)

    def __call__(self, *choices):
        return self.rng.choice(choices)

    def shape(self, least: int = 0, most: int = 4) -> list[int]:
        return [self(1, 2, 3, 4) for _ in range(self.rng.randint(least, most))]

    def floats(self, *shape: int, positive=False, odd=False) -> Tensor:
        x = torch.randn(shape, generator=self.draw)
        x = x.abs() + 0.1 if positive else x
        if odd and x.numel() and self.rng.random() < 0.2:
            x.view(-1)[self.rng.randrange(x.numel())] = self(*ODD)
        return self.laid(x)

    def ints(self, *shape: int, high: int = 5) -> Tensor:
        return torch.randint(0, high, shape, generator=self.draw)

    def laid(self, x: Tensor) -> Tensor:
        """The same numbers, sometimes lying otherwise."""
        return x.mT.contiguous().mT if x.ndim > 1 and self(True, False) else x

    def axis(self, x: Tensor) -> int:
        return self.rng.randrange(-x.ndim, x.ndim)

    def alike(self) -> tuple[list[int], list[int]]:
        """Two shapes that broadcast."""
        s = self.shape()
        t = [1 if self.rng.random() < 0.3 else n for n in s][self.rng.randint(0, len(s)) if self(True, False) else 0 :]
        return (s, t) if self(True, False) else (t, s)

    def two(self) -> list:
        a, b = (self.floats(*shape, odd=True) for shape in self.alike())
        kind = self.rng.random()
        if kind < 0.2:
            return [a, self(2, 0.5, 3.0, -1)]
        if kind < 0.35:
            return [self.ints(*a.shape), self.ints(*b.shape) + 1]
        if kind < 0.45:
            return [a.half(), b.half()]
        if kind < 0.55:
            return [self.ints(*a.shape) > 2, self(b, self.ints(*b.shape) > 2, 1, True)]
        return [a.double() if kind < 0.65 else a, b]

    def index(self, x: Tensor) -> list:
        items, left = [], x.ndim
        while left and self.rng.random() < 0.85:
            n, kind = x.shape[x.ndim - left], self("int", "slice", "none", "tensor", "mask", "dots")
            if kind == "none":
                items.append(None)
                continue
            if kind == "dots":
                rest = self.rng.randint(0, left)
                return [*items, ..., *(self.rng.randrange(m) for m in x.shape[x.ndim - rest :] if rest)]
            left -= 1
            items.append(
                {
                    "int": lambda n=n: self.rng.randrange(-n, n),
                    "slice": lambda n=n: slice(self(None, 0, 1, -1), self(None, n, -1, 2), self(None, 1, 2)),
                    "tensor": lambda n=n: torch.randint(-n, n, self.shape(1, 2), generator=self.draw),
                    "mask": lambda n=n: torch.rand(n, generator=self.draw) < 0.6,
                }[kind]()
            )
        return items

    def along(self, keep=True, none=True) -> tuple[list, dict]:
        x = self.floats(*self.shape(1, 4))
        dim = self(self.axis(x), None) if none else self.axis(x)
        return [x], {} if dim is None else {"dim": dim} | ({"keepdim": self(True, False)} if keep else {})


def many(names: str, make: Callable) -> dict[str, Callable]:
    return dict.fromkeys(names.split(), make)


def products(d: Draw) -> list[Tensor]:
    (n, k, m), (a, b) = (d.rng.randint(1, 4) for _ in range(3)), d.alike()
    return d(
        [d.floats(k), d.floats(k)],
        [d.floats(k), d.floats(*a, k, m)],
        [d.floats(*a, n, k), d.floats(k)],
        [d.floats(n, k), d.floats(k, m)],
        [d.floats(*a, n, k), d.floats(*b, k, m)],
    )


def written_into(d: Draw) -> list:
    x = d.floats(*d.shape(1, 3))
    items = d.index(x)
    if sum(isinstance(item, Tensor) for item in items) > 1:  # whose shapes may not fit together
        items = [0]
    return [x, items, d(0.5, d.floats(*x[tuple(items)].shape))]


def rules(d: Draw) -> list:
    x, y = d.floats(2, 3), d.floats(3, 4)
    return d(
        ["ij,jk->ik", x, y],
        ["ij,jk", x, y],
        ["bld,bmd->blm", d.floats(2, 3, 4), d.floats(2, 2, 4)],
        ["i,j->ij", d.floats(2), d.floats(3)],
        ["bij->bji", d.floats(2, 3, 4)],
        ["ij->", x],
        ["...ij,...jk->...ik", d.floats(d(1, 2), 2, 3), y],
        ["...i->...", d.floats(*d.shape(1))],
        ["bhld,bhmd->bhlm", d.floats(2, 2, 3, 4), d.floats(2, 2, 2, 4)],
    )


# For each name its arguments: a list, or a list and what is given by name.
CALLS: dict[str, Callable[[Draw], list | tuple[list, dict]]] = (
    many(
        "exp tanh sigmoid sin cos square abs relu sign floor ceil exp2 expm1 erf isnan isinf isfinite"
        " clone contiguous detach logsigmoid softplus nan_to_num",
        lambda d: [d.floats(*d.shape(), odd=True)],
    )
    | many("nonzero count_nonzero numel is_floating_point", lambda d: [(d.floats(*d.shape(1)) > 0).float()])
    | many("median", lambda d: [d.floats(*d.shape(), odd=True)])
    | many("diff", lambda d: [x := d(d.floats(*d.shape(1)), d.ints(2, 3) > 2, d.ints(3)), d(1, 2), d.axis(x)])
    | many("neg negative", lambda d: [d(d.floats(*d.shape(), odd=True), d.ints(3), d.ints(3) > 2)])
    | many("gelu silu", lambda d: [d.floats(*d.shape())])
    | many("log sqrt rsqrt log2 log1p reciprocal", lambda d: [d.floats(*d.shape(), positive=True)])
    | many("add sub mul div subtract multiply divide true_divide eq ne lt le gt ge", Draw.two)
    | many("maximum minimum", lambda d: [d.floats(*s, odd=True) for s in d.alike()])
    | many("floor_divide remainder", lambda d: [d.floats(2, 3), d(2, 0.5, -3, d.floats(3) + 3)])
    | many("bitwise_and bitwise_or bitwise_xor", lambda d: [d.ints(*s) for s in d.alike()])
    | many("logical_and logical_or logical_xor", lambda d: [d.ints(*s) > 2 for s in d.alike()])
    | many("logical_not bitwise_not", lambda d: [d.ints(*d.shape()) > 2])
    | many("matmul", products)
    | many("outer ger", lambda d: [d.floats(3), d.floats(d(1, 2, 3))])
    | many("view_as expand_as", lambda d: [d.floats(1, 6).contiguous(), d.floats(1, 6)])
    | many("permute", lambda d: [x := d.floats(*d.shape(1)), *d.rng.sample(range(x.ndim), x.ndim)])
    | many("transpose swapaxes swapdims", lambda d: [x := d.floats(*d.shape(1)), d.axis(x), d.axis(x)])
    | many("view", lambda d: [d.floats(2, 6), *d((3, 4), (-1,), (2, 3, -1), (12, 1), (1, 2, 2, 3))])
    | many("reshape", lambda d: [d.floats(2, 6), *d((3, 4), (-1,), (2, 3, -1), (12, 1), (1, 2, 2, 3))])
    | many("tril triu", lambda d: [d.floats(*d.shape(0, 1), 3, 4), d.rng.randint(-3, 3)])
    | many("diag", lambda d: [d.floats(3, 4), d.rng.randint(-2, 2)])
    | many("diagonal", lambda d: [d.floats(2, 3, 4), d.rng.randint(-2, 2), *d((), (-2, -1), (0, -1), (2, 0))])
    | many("sum mean any all", lambda d: d.along())
    | many("var std", lambda d: ([d.floats(3, 2, 4)], {"dim": d(0, 1, -1, [0, -1]), "keepdim": d(True, False)}))
    | many("amax amin argmax argmin prod logsumexp norm max min", lambda d: d.along(none=False))
    | many("softmax log_softmax cumsum cumprod cummin", lambda d: d.along(keep=False, none=False))
    | many("sort argsort", lambda d: (lambda a, n: (a, n | {"descending": d(True, False)}))(*d.along(False, False)))
    | many("hstack vstack", lambda d: [[d.floats(*shape) for _ in range(3)] for shape in [d(([2, 3]), [3], [2, 1, 3])]])
    | many("tril_indices triu_indices", lambda d: [d(2, 3, 4), d(2, 3, 4), d(-1, 0, 1)])
    | many(
        "movedim moveaxis",
        lambda d: d([d.floats(2, 3, 4), d(0, 1, -1), d(0, 2, -2)], [d.floats(2, 3, 4), [0, 2], [1, 0]]),
    )
    | many("cat concat concatenate stack", lambda d: [[d.floats(2, 3) for _ in range(3)], d(0, 1, -1)])
    | many("split chunk tensor_split", lambda d: [d.floats(5, 4), d(2, 3), d(0, 1)])
    | many(
        "clamp clip",
        lambda d: (
            [d.floats(2, 3, odd=True)],
            d({"min": 0.1}, {"max": 0.2}, {"min": -0.3, "max": 0.3}, {"max": torch.tensor([0.1, 0.2, 0.3])}),
        ),
    )
    | many("isclose allclose equal", lambda d: [x := d.floats(3), x + d(0, 1e-7, 1)])
    | many("zeros_like ones_like empty_like randn_like", lambda d: [d.floats(*d.shape())])
    | many("zeros ones empty rand randn", lambda d: d([2, 3], [[2]], [4]))
    | many("float double half long int bool", lambda d: [d(d.floats(3) * 2, d.ints(3), d.ints(3) > 2)])
    | many("bitwise_and_ bitwise_or_ bitwise_xor_", lambda d: [d.ints(3, 2), d.ints(2)])
    | many("pow_ floor_divide_ remainder_", lambda d: [d.floats(3, 2, positive=True), d(2, 3.0)])
    | many("add_ sub_ mul_ div_", lambda d: [d.floats(3, 2), d(2, 0.5, d.floats(2), d.floats(3, 1))])
    | many("exp_ tanh_ neg_ relu_ zero_", lambda d: [d.floats(*d.shape(), odd=True)])
    | many("tril_ triu_", lambda d: [d.floats(3, 4), d.rng.randint(-2, 2)])
    | many("to type", lambda d: [d(d.floats(3) * 2, d.ints(3)), d("float32", "float64", "float16", "int64", "bool")])
    | many("tensor as_tensor", lambda d: [d(1.5, 2, True, [1, 2], [1, 2.5], [[True], [False]], [[0.5, 1.0]], [])])
    | many("requires_grad_ is_contiguous", lambda d: [d.floats(3, 2)])
    | many("getitem", lambda d: [x := d.floats(*d.shape(1)), d.index(x)])
    | many("setitem", written_into)
    | {
        "addmm": lambda d: [d.floats(2, 4), d.floats(2, 3), d.floats(3, 4)],
        "baddbmm": lambda d: [d.floats(2, 2, 1), d.floats(2, 2, 3), d.floats(2, 3, 1)],
        "addcmul": lambda d: [d.floats(2, 3), d.floats(3), d.floats(2, 1)],
        "inner": lambda d: [d.floats(2, 3), d.floats(*d([3], [4, 3]))],
        "tensordot": lambda d: [d.floats(2, 3, 4), d.floats(3, 4, 2), *d(([[1, 2], [0, 1]],), (2,), ([[-1], [1]],))][
            :3
        ],
        "tile": lambda d: [d.floats(2, 3), *d((2,), (2, 1), (2, 1, 3))],
        "narrow": lambda d: [d.floats(3, 4), d(0, -1), d(0, 1), 2],
        "select": lambda d: [d.floats(3, 4), d(0, -1), d(0, 1, -1)],
        "masked_select": lambda d: [d.floats(2, 3), d.floats(*d([2, 3], [3])) > 0],
        "argwhere": lambda d: [d.floats(2, 3) > 0],
        "index_fill": lambda d: [d.floats(3, 4), d(0, -1), d.ints(2, high=3), 0.5],
        "take_along_dim": lambda d: [d.floats(3, 4), d.ints(3, 2, high=4), 1],
        "trace": lambda d: [d.floats(3, d(3, 4))],
        "var_mean": lambda d: ([d.floats(3, 4)], {"dim": d(0, -1), "keepdim": d(True, False), "correction": d(0, 1)}),
        "clamp_max": lambda d: [d.floats(2, 3), 0.1],
        "unique": lambda d: ([d.ints(2, 4)], d({}, {"return_counts": True}, {"return_inverse": True})),
        "pad": lambda d: ([d.floats(2, 3), d([1, 0], [0, 2], [1, 1, 2, 0])], d({}, {"value": 0.5})),
        "block_diag": lambda d: [d.floats(2, 3), d.floats(1, 2), d.floats(2)],
        "meshgrid": lambda d: ([d.floats(3), d.floats(2)], {"indexing": "ij"}),
        "multinomial": lambda d: [d.floats(4, positive=True), 1],
        "mm": lambda d: [d.floats(2, 3), d.floats(3, 4)],
        "bmm": lambda d: [d.floats(2, 2, 3), d.floats(2, 3, 1)],
        "mv": lambda d: [d.floats(2, 3), d.floats(3)],
        "dot": lambda d: [d.floats(3), d.floats(3)],
        "einsum": rules,
        "pow": lambda d: d([d.floats(2, 3), 2], [d.floats(3, positive=True), d.floats(3)], [d.ints(2, 2) + 1, 2]),
        "t": lambda d: [d.floats(2, 3)],
        "expand": lambda d: [d.floats(3, 1), *d((2, -1, 4), (3, 4), (-1, 2))],
        "broadcast_to": lambda d: [d.floats(3, 1), [2, 3, 4]],
        "flatten": lambda d: [d.floats(*d.shape(1)), *d((), (0,), (0, -1), (-1,))],
        "unflatten": lambda d: [d.floats(2, 6), -1, d((2, 3), (-1, 2), (3, -1))],
        "unsqueeze": lambda d: [x := d.floats(*d.shape(0, 3)), d.rng.randrange(-x.ndim - 1, x.ndim + 1)],
        "squeeze": lambda d: [x := d.floats(*d.shape(1)), *d((), (d.axis(x),))],
        "repeat": lambda d: [d.floats(2, 3), *d((2, 1), (1, 3), (2, 1, 2))],
        "flip": lambda d: [x := d.floats(*d.shape(1, 3)), d.axis(x)],
        "roll": lambda d: [x := d.floats(*d.shape(1, 3)), d.rng.randint(-3, 3), *d((), (d.axis(x),))],
        "diag_embed": lambda d: [d.floats(*d.shape(1, 2))],
        "where": lambda d: [d.floats(2, 3) > 0, d.floats(2, 3, odd=True), d(d.floats(3), 0.0)],
        "masked_fill": lambda d: [x := d.floats(*d.shape(1, 3)), d.floats(*x.shape[1:]) > 0, d(0, -torch.inf, 1.5)],
        "masked_fill_": lambda d: [d.floats(2, 3), d.floats(3) > 0, d(0, -torch.inf, 1.5)],
        "topk": lambda d: ([d.floats(3, 4), 2], {"dim": d(-1, 0)}),
        "gather": lambda d: [d.floats(3, 4), 1, d.ints(3, 2, high=4)],
        "scatter": lambda d: [d.floats(3, 4), 1, d.ints(3, 4).argsort(-1)[:, :2], d(0.5, d.floats(3, 2))],
        "index_select": lambda d: [d.floats(3, 4), d(1, -1), d.ints(2, high=4)],
        "unbind": lambda d: [d.floats(2, 3), d(0, 1)],
        "repeat_interleave": lambda d: (
            ([d.floats(2, 3), 2], d({"dim": 1}, {})) if d(True, False) else [d.floats(2, 3), d.ints(2), 0]
        ),
        "clamp_min": lambda d: [d.floats(2, 3), 0.1],
        "clamp_": lambda d: ([d.floats(2, 3)], {"min": -0.3, "max": 0.3}),
        "sqrt_": lambda d: [d.floats(2, positive=True)],
        "fill_": lambda d: [d.floats(2, 3), 1.5],
        "fill_diagonal_": lambda d: [d.floats(3, 3), d(0.0, -torch.inf)],
        "copy_": lambda d: [d.floats(2, 3), d(d.floats(2, 3), d.floats(3), d.ints(3))],
        "round": lambda d: ([d.floats(3) * 30], d({}, {"decimals": 2})),
        "full": lambda d: [[2, 3], d(1, 2.5, True)],
        "full_like": lambda d: [d.floats(2), 3],
        "eye": lambda d: d([3], [2, 4]),
        "arange": lambda d: d([5], [1, 7, 2], [0.5, 3], [3, 3]),
        "linspace": lambda d: [0, 1.5, 4],
        "randint": lambda d: [0, 5, [2, 3]],
        "randperm": lambda d: [5],
        "manual_seed": lambda d: [3],
        "type_as": lambda d: [d.floats(2), d.ints(2)],
        "item": lambda d: [d(d.floats(), d.ints(1))],
        "normalize": lambda d: ([d.floats(3, 4)], {"dim": d(-1, 0)}),
        "cdist": lambda d: [d.floats(2, 3, 4), d.floats(d(1, 2), 2, 4)],
        "cosine_similarity": lambda d: ([d.floats(3, 4), d.floats(4)], {"dim": -1}),
        "cross_entropy": lambda d: (
            d([d.floats(4, 5), d.ints(4)], [d.floats(2, 5, 3), d.ints(2, 3)], [d.floats(2, 5, 3), d.ints(2, 5)]),
            d({}, {"ignore_index": 0}, {"reduction": "sum"}, {"reduction": "none"}),
        ),
        "nll_loss": lambda d: (
            d([d.floats(4, 5), d.ints(4)], [d.floats(2, 5, 3), d.ints(2, 3)], [d.floats(5), d.ints()]),
            d({}, {"ignore_index": 0}, {"reduction": "none"}),
        ),
        "mse_loss": lambda d: [d.floats(4), d.floats(4)],
        "layer_norm": lambda d: [d.floats(2, 3, 4), [4], d.floats(4), d.floats(4)],
        "linear": lambda d: [d.floats(2, 3), d.floats(4, 3), d.floats(4)],
        "bincount": lambda d: ([d.ints(d(1, 5))], {"minlength": d(0, 7)}),
        "one_hot": lambda d: [d.ints(4), 6],
        "embedding": lambda d: [d.ints(4), d.floats(5, 3)],
        "scaled_dot_product_attention": lambda d: (
            [d.floats(2, 3, 4), d.floats(2, 3, 4), d.floats(2, 3, 2)],
            d({}, {"is_causal": True}),
        ),
    }
)


def with_name(given: list | tuple[list, dict]) -> tuple[list, dict]:
    return given if isinstance(given, tuple) else (given, {})


def by_torch(name: str, args: list, named: dict):
    """What PyTorch answers to a call as Handful is asked."""
    if name == "getitem":
        return args[0][tuple(args[1])]
    if name == "setitem":
        args[0][tuple(args[1])] = args[2]
        return args[0]
    if name in ("to", "type"):
        return getattr(args[0], name)(getattr(torch, args[1]))
    is_method = name not in IN_F and name not in ("where", "equal") and isinstance(args[0], Tensor)
    owner = F if name in IN_F else Tensor if is_method and hasattr(Tensor, name) else torch
    return getattr(owner, name)(*args, **named)


def told(x):
    """A value as the page reads it."""
    match x:
        case Tensor():
            numbers = [str(v) for v in x.detach().double().flatten().tolist()]
            turned = x.ndim > 1 and not x.is_contiguous()
            return {"t": numbers, "shape": list(x.shape), "dtype": str(x.dtype)[6:], "turned": turned}
        case slice():
            return {"slice": [x.start, x.stop, x.step]}
        case list() | tuple():
            return [told(each) for each in x]
        case float():
            return {"float": str(x)}
        case torch.Generator():
            return None
    return "..." if x is ... else x


def calls(seed: int, each: int) -> list[dict]:
    """So many calls of each name, with what PyTorch answers to them, and the gradients where it has some."""
    draw, found = Draw(seed), []
    for name, make in CALLS.items():
        for _ in range(each):
            args, named = with_name(make(draw))
            call = {"name": name, "args": told(args), "named": told_by_name(named)}
            leaves = [x for x in flat(args) if isinstance(x, Tensor) and x.is_floating_point()]
            in_place = name.endswith("_") or name == "setitem"
            if not in_place:
                for leaf in leaves:
                    leaf.requires_grad_()
            try:
                want = by_torch(name, args, named)
            except (RuntimeError, IndexError, TypeError, ValueError) as error:
                found.append(call | {"raises": str(error)})
                continue
            parts = [want] if isinstance(want, Tensor) or not isinstance(want, tuple | list) else list(want)
            pulled = [p for p in parts if isinstance(p, Tensor) and p.requires_grad and p.grad_fn]
            if pulled and name not in NO_GRADIENT:
                pulls = [torch.arange(1.0, p.numel() + 1, dtype=p.dtype).view(p.shape) for p in pulled]
                grads = torch.autograd.grad(pulled, leaves, pulls, allow_unused=True)
                call["grads"] = [told(g) for g in grads]
            found.append(call | {"want": told(parts)})
    return found


def told_by_name(named: dict) -> dict:
    return {name: told(value) for name, value in named.items()}


def flat(args: list) -> list:
    return [y for x in args for y in (flat(x) if isinstance(x, list | tuple) else [x])]
