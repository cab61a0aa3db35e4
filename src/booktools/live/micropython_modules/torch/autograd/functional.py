import torch


def jacobian(f, x):
    x = x.detach().clone()
    x.requires_grad_()
    y, rows = f(x), []
    for i in range(y.numel()):
        x.grad = None
        f(x).flatten()[i].backward()
        rows.append(x.grad)
    return torch.stack(rows).reshape(list(y.shape) + list(x.shape))
