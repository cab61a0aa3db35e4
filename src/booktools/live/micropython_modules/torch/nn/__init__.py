from collections import OrderedDict

import torch
from torch.nn import functional


class Parameter(torch.Tensor):
    made = 0

    def __init__(self, x, requires_grad=True):
        self._h = x.detach().clone().requires_grad_(requires_grad)._h
        Parameter.made += 1
        self._n = Parameter.made


# What PyTorch's layers have and these have not.
_MORE = set(
    "apply buffers children modules named_buffers named_children named_modules register_forward_hook "
    "register_parameter double half float cpu cuda compile".split()
)


class Module:
    training = True
    _ready = False

    def __getattr__(self, name):
        if name in _MORE:
            raise torch._missing("nn.Module." + name)
        raise AttributeError("'" + type(self).__name__ + "' object has no attribute '" + name + "'")

    def add_module(self, name, layer):
        setattr(self, name, layer)

    def register_buffer(self, name, tensor, persistent=True):
        setattr(self, name, tensor)

    def __init__(self):
        self._ready = True

    def __setattr__(self, name, value):
        if not self._ready and isinstance(value, (Module, Parameter)):
            kind = "module" if isinstance(value, Module) else "parameter"
            raise AttributeError("cannot assign %s before Module.__init__() call" % kind)
        object.__setattr__(self, name, value)

    def __call__(self, *args, **named):
        return self.forward(*args, **named)

    def _own(self):
        return self.__dict__.items()

    def named_parameters(self, before=""):
        found = []
        for name, x in self._own():
            if isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf:
                found.append((before + name, x))
            elif isinstance(x, Module):
                found += x.named_parameters(before + name + ".")
        return sorted(found, key=lambda pair: pair[1]._n)

    def parameters(self):
        return iter([x for _, x in self.named_parameters()])

    def state_dict(self):
        return OrderedDict([(name, p.detach()) for name, p in self.named_parameters()])

    def load_state_dict(self, state):
        own = self.state_dict()
        if set(own) != set(state):
            raise RuntimeError("Error(s) in loading state_dict: the names differ")
        for name, p in own.items():
            p.copy_(state[name])

    def train(self, on=True):
        self.training = on
        for _, x in self._own():
            if isinstance(x, Module):
                x.train(on)
        return self

    def eval(self):
        return self.train(False)

    def zero_grad(self):
        for p in self.parameters():
            p.grad = None

    def to(self, *_):
        return self


def _drawn(bound, *shape):
    return Parameter((torch.rand(*shape) * 2 - 1) * bound)


class _Layer(Module):
    _ready = True


class Linear(_Layer):
    def __init__(self, in_features, out_features, bias=True):
        self.in_features, self.out_features = in_features, out_features
        self.weight = _drawn(in_features**-0.5, out_features, in_features)
        self.bias = _drawn(in_features**-0.5, out_features) if bias else None

    def forward(self, x):
        return functional.linear(x, self.weight, self.bias)


class Embedding(_Layer):
    def __init__(self, num_embeddings, embedding_dim):
        self.weight = Parameter(torch.randn(num_embeddings, embedding_dim))

    def forward(self, ids):
        return self.weight[ids]


class LayerNorm(_Layer):
    def __init__(self, normalized_shape, eps=1e-5):
        shape = normalized_shape if isinstance(normalized_shape, (list, tuple)) else (normalized_shape,)
        self.normalized_shape, self.eps, self.weight, self.bias = (
            shape,
            eps,
            Parameter(torch.ones(*shape)),
            Parameter(torch.zeros(*shape)),
        )

    def forward(self, x):
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class Dropout(_Layer):
    def __init__(self, p=0.5):
        self.p = p

    def forward(self, x):
        return functional.dropout(x, self.p, self.training)


class Sequential(_Layer):
    def __init__(self, *layers):
        self.layers = list(layers)
        for i, layer in enumerate(layers):
            setattr(self, str(i), layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class ModuleList(_Layer):
    def __init__(self, layers=()):
        self.layers = []
        for layer in layers:
            self.append(layer)

    def append(self, layer):
        setattr(self, str(len(self.layers)), layer)
        self.layers.append(layer)

    def __iter__(self):
        return iter(self.layers)

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, i):
        return self.layers[i]


def _layer(name):
    class Layer(_Layer):
        def forward(self, x):
            return getattr(x, name)()

    return Layer


ReLU, Tanh, Sigmoid = _layer("relu"), _layer("tanh"), _layer("sigmoid")


class GELU(_Layer):
    def forward(self, x):
        return functional.gelu(x)


class Identity(_Layer):
    def forward(self, x):
        return x


class Softmax(_Layer):
    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, x):
        return functional.softmax(x, self.dim)


class CrossEntropyLoss(_Layer):
    def __init__(self, **options):
        self.options = options

    def forward(self, x, target):
        return functional.cross_entropy(x, target, **self.options)


def __getattr__(name):
    raise torch._missing("torch.nn." + name)
