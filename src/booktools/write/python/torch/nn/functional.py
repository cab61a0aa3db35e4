import _tensors

import torch

_KNOWN = {name: torch._named(name) for name in _tensors.names("F")}


def dropout(x, p=0.5, training=True, inplace=False):
    return x if not training or not p else x * (torch.rand(*x.shape) >= p) / (1 - p)


def __getattr__(name):
    if name in _KNOWN:
        return _KNOWN[name]
    raise torch._missing("torch.nn.functional." + name)
