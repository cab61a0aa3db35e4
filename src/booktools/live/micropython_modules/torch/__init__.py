# The names of torch, in Python, over the tensors of Handful. What is not here says so kindly.
import math

import _tensors
import jsffi

_call, _float, _to_js, _Proxy = _tensors.call, _tensors.float, jsffi.to_js, jsffi.JsProxy
inf, nan, pi = math.inf, math.nan, math.pi


class Lacking(AttributeError):
    """A name that PyTorch has and this page has not."""


_ERRORS = {each.__name__: each for each in (TypeError, IndexError, ValueError, NotImplementedError)}


class dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    @property
    def is_floating_point(self):
        return self.name[0] == "f"


bool_, int32, int64, float16, float32, float64 = [dtype(n) for n in "bool int32 int64 float16 float32 float64".split()]
long, double, half, int_ = int64, float64, float16, int32
_KINDS = {d.name: d for d in (bool_, int32, int64, float16, float32, float64)}


class Size(tuple):
    def __repr__(self):
        return "torch.Size([%s])" % ", ".join([str(n) for n in self])

    def numel(self):
        return math_prod(self)


def math_prod(xs):
    n = 1
    for x in xs:
        n *= x
    return n


lacked = []  # what was asked for and is not here, even if the code that asked goes on


def _missing(name):
    lacked.append(name)
    return Lacking(name)


FLOAT = [float]  # and what a reader's code calls so: see plain.py


def _given(x):
    """What JavaScript is told of a value."""
    if isinstance(x, Tensor):
        return x._h
    if x is None or isinstance(x, (bool, str)):
        return x
    if isinstance(x, int):
        return x if -0x40000000 < x < 0x40000000 else _tensors.whole(float(x))
    if isinstance(x, float):
        return x if x != x or x in (inf, -inf) or x != int(x) else _float(x)
    if isinstance(x, (list, tuple, range)):
        return [_given(y) for y in x]
    if isinstance(x, slice):
        return {"slice": [_bound(x.start), _bound(x.stop), _bound(x.step)]}
    if x is Ellipsis:
        return "..."
    if isinstance(x, dtype):
        return x.name
    if isinstance(x, device):
        return None
    if isinstance(x, Generator):
        return x._s
    if x in (bool, int) or x in FLOAT:
        return {bool: "bool", int: "int64"}.get(x, "float64")
    raise TypeError("torch can't take a %s here" % type(x).__name__)


def _bound(x):
    if isinstance(x, Tensor):
        return x.__index__()
    if x is None or isinstance(x, int):
        return x
    raise TypeError("slice indices must be integers or None or have an __index__ method")


class _Pair(tuple):
    @property
    def values(self):
        return self[0]

    @property
    def indices(self):
        return self[1]


def _taken(r):
    """What Python is told of a result."""
    if not isinstance(r, _Proxy):
        return r
    if r.isT:
        return Tensor(r)
    if r.kind == "error" and r.error == "Lacking":
        raise _missing(r.message)
    if r.kind == "error":
        raise _ERRORS.get(r.error, RuntimeError)(r.message)
    if r.kind == "big":
        return float(r.text)
    if r.kind == "pair":
        return _Pair((Tensor(r.values), Tensor(r.indices)))
    return tuple([_taken(x) for x in r.list])


def _shape(h):
    return [int(n) for n in _tensors.shape(h).split()]


def _number(word, kind):
    return float(word) if kind.is_floating_point else word == "1" if kind is bool_ else int(word)


_one, _two = _tensors.call0, _tensors.call2


def _plain(x):
    return isinstance(x, (Tensor, int, float, str, dtype))


_modes = []  # of torch.overrides.TorchFunctionMode, those that are on


class _Function:
    def __init__(self, name):
        self.__name__ = "__getitem__" if name == "getitem" else name
        self.name = name

    def __call__(self, *args, **named):
        return _done(self.name, args, named)


def _do(name, args, named=None):
    if not _modes:
        return _done(name, args, named)
    mode = _modes.pop()
    try:
        return mode.__torch_function__(_Function(name), (), args, named)
    finally:
        _modes.append(mode)


def _done(name, args, named=None):
    if not named:
        if len(args) == 1 and isinstance(args[0], Tensor):
            return _taken(_one(name, args[0]._h))
        if len(args) == 2 and _plain(args[0]) and _plain(args[1]):
            return _taken(_two(name, _given(args[0]), _given(args[1])))
        return _taken(_call(name, _to_js([_given(x) for x in args]), None))
    named = {k: _given(v) for k, v in named.items()}
    return _taken(_call(name, _to_js([_given(x) for x in args]), _to_js(named)))


class Tensor:
    def __init__(self, h):
        self._h = h

    @property
    def shape(self):
        return Size(_shape(self._h))

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self._h.ndim

    ndim = property(lambda self: self._h.ndim)
    dtype = property(lambda self: _KINDS[self._h.dtype])
    device = property(lambda self: _CPU)
    T = property(lambda self: _do("permute", [self] + list(reversed(range(self._h.ndim)))))
    mT = property(lambda self: _do("transpose", (self, -2, -1)))
    requires_grad = property(lambda self: self._h.requiresGrad)
    data = property(lambda self: _do("detach", (self,)))
    is_leaf = property(lambda self: self._h.isLeaf)

    @property
    def grad(self):
        return Tensor(self._h.grad) if self._h.hasGrad else None

    @grad.setter
    def grad(self, g):
        _tensors.setGrad(self._h, None if g is None else g._h)

    def item(self):
        v = _do("item", (self,))
        return v if isinstance(v, bool) else float(v) if self.dtype.is_floating_point else int(v)

    def tolist(self):
        numbers = [_number(word, self.dtype) for word in _tensors.numbers(self._h).split()]
        shape = self.shape
        if not shape:
            return numbers[0]
        for n in reversed(shape[1:]):
            numbers = [numbers[i : i + n] for i in range(0, len(numbers), n)] if n else [[] for _ in range(shape[0])]
        return numbers

    def untyped_storage(self):
        return _Storage(int(_tensors.stored(self._h)) * self.element_size())

    def element_size(self):
        return {"bool": 1, "float16": 2, "int32": 4, "float32": 4}.get(self.dtype.name, 8)

    def new_full(self, size, value):
        return _do("full", (list(size), value, self.dtype))

    def new_zeros(self, *size):
        return self.new_full(size if isinstance(size[0], int) else size[0], 0)

    def new_ones(self, *size):
        return self.new_full(size if isinstance(size[0], int) else size[0], 1)

    def new_tensor(self, data):
        return _do("tensor", (data, self.dtype))

    def __contains__(self, x):
        return bool((self == x).any())

    def numpy(self):
        raise _missing("Tensor.numpy")

    def cpu(self):
        return self

    def where(self, condition, other):
        return _do("where", (condition, self, other))

    def __len__(self):
        if not self._h.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if not self._h.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(len(self))])

    def __bool__(self):
        if self._h.n != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    # No __float__: MicroPython would call it for 2.0 * x. `float` and `math` in a reader's code are those of plain.py.

    def __int__(self):
        return int(self.item())

    def __index__(self):
        if self._h.n != 1 or self.dtype.is_floating_point:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __hash__(self):
        return id(self)

    def __getitem__(self, key):
        return _do("getitem", (self, _items(key)))

    def __setitem__(self, key, value):
        _do("setitem", (self, _items(key), value))

    def __getattr__(self, name):
        raise _missing("Tensor." + name)

    def __repr__(self):
        return _tensors.show(self._h)

    def __format__(self, spec):
        return ("{:" + spec + "}").format(self.item())


def _items(key):
    if not isinstance(key, tuple):
        key = (key,)
    for k in key:
        if isinstance(k, (float, str)):
            kinds = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables"
            raise IndexError("%s are valid indices (got %s)" % (kinds, type(k).__name__))
    return [
        tensor(list(k), dtype=int64 if not k else None)
        if isinstance(k, (list, range, tuple))
        else int(k)
        if isinstance(k, Tensor) and not k.ndim and k.dtype in (int32, int64)
        else k
        for k in key
    ]


def _named(name):
    def f(*args, **named):
        return _do(name, args, named)

    return f


def _operator(name, sign):
    """What `a + b` and `b + a` are; only tensors and numbers stand beside a tensor."""

    def f(a, b):
        if isinstance(b, (Tensor, int, float, bool)):
            return _do(name, (a, b))
        if name in ("eq", "ne"):
            return name == "ne"
        raise TypeError("unsupported operand type(s) for %s: 'Tensor' and '%s'" % (sign, type(b).__name__))

    def reflected(a, b):
        return _do(name, (b, a)) if isinstance(b, (int, float, bool)) else f(a, b)

    return f, reflected


def _operators():
    for sign, name, written in (
        ("add", "add", "+"),
        ("sub", "sub", "-"),
        ("mul", "mul", "*"),
        ("truediv", "div", "/"),
        ("floordiv", "floor_divide", "//"),
        ("mod", "remainder", "%"),
        ("pow", "pow", "** or pow()"),
        ("matmul", "matmul", "@"),
        ("and", "bitwise_and", "&"),
        ("or", "bitwise_or", "|"),
        ("xor", "bitwise_xor", "^"),
        ("lt", "lt", "<"),
        ("le", "le", "<="),
        ("gt", "gt", ">"),
        ("ge", "ge", ">="),
        ("eq", "eq", "=="),
        ("ne", "ne", "!="),
    ):
        for before, f in zip(("__", "__r"), _operator(name, written)):
            setattr(Tensor, before + sign + "__", f)
    for sign, name in (("neg", "neg"), ("invert", "bitwise_not"), ("abs", "abs")):
        setattr(Tensor, "__%s__" % sign, lambda a, name=name: _do(name, (a,)))
    for sign in ("add", "sub"):
        setattr(Tensor, "__i%s__" % sign, lambda a, b, name=sign + "_": _do(name, (a, b)))


_operators()


class _Storage:
    def __init__(self, size):
        self.size = size

    def nbytes(self):
        return self.size


class device:
    def __init__(self, kind="cpu"):
        self.type = kind

    def __repr__(self):
        return "device(type='%s')" % self.type


_CPU = device()


class Generator:
    def __init__(self, device=None):
        self._s = _tensors.stream(1)
        self.device = device or _CPU

    def manual_seed(self, seed):
        self._s = _tensors.stream(seed)
        return self

    def get_state(self):
        return tensor([int(self._s.state)])


class _Recording:
    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.before = _tensors.record(self.on)

    def __exit__(self, *_):
        _tensors.record(self.before)

    def __call__(self, f):
        def quiet(*args, **named):
            with _Recording(self.on):
                return f(*args, **named)

        return quiet


def no_grad(f=None):
    return _Recording(False)(f) if f else _Recording(False)


def enable_grad():
    return _Recording(True)


class finfo:
    def __init__(self, kind=None):
        if kind and not kind.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        k = _tensors.finfo((kind or float32).name)
        self.min, self.max, self.eps, self.tiny = [float(x) for x in k.split()]


def is_tensor(x):
    return isinstance(x, Tensor)


_KNOWN = {"bool": bool_, "int": int32, "float": float32}
IN_F = {}  # the names of torch.nn.functional


def learn():
    """All that Handful knows now."""
    for where, known in (("t", _KNOWN), ("F", IN_F)):
        known.update({name: _named(name) for name in _tensors.names(where) if name not in known})
    for name in _tensors.names("m"):
        if name != "item":
            setattr(Tensor, name, _named(name))


learn()
tensor, as_tensor = _KNOWN["tensor"], _KNOWN["as_tensor"]
from torch import nn  # before there is a __getattr__, which would answer for them


def _of_kind(kind):
    return lambda data: tensor(data, dtype=kind)


LongTensor, IntTensor, FloatTensor, BoolTensor = [_of_kind(kind) for kind in (int64, int32, float32, bool_)]


def __getattr__(name):
    if name in _KNOWN:
        return _KNOWN[name]
    if name in ("autograd", "optim", "testing"):  # which the page fetches when somebody asks for them
        return getattr(__import__("torch." + name), name)
    raise _missing("torch." + name)
