import torch


def dropout(x, p=0.5, training=True, inplace=False):
    return x if not training or not p else x * (torch.rand(*x.shape) >= p) / (1 - p)


def _by_habit(name):
    def f(x, dim=None, **named):
        return getattr(x, name)((0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim, **named)

    return f


softmax, log_softmax = _by_habit("softmax"), _by_habit("log_softmax")


def __getattr__(name):
    if name in torch.IN_F:
        return torch.IN_F[name]
    raise torch._missing("torch.nn.functional." + name)
