"""A device that only pretends: it computes on the CPU, and like a GPU refuses what lies elsewhere.

Where there is no GPU it finds the tensors that a program forgot to move.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("pretend")
torch.pretend.get_amp_supported_dtype = lambda: [torch.bfloat16]
DEVICE = torch.device("pretend:0")
aten = torch.ops.aten
# An index or a length may lie on the CPU, and a copy is there to bring things from one device to another.
MIXED = {aten.copy_.default, aten._to_copy.default, aten.index.Tensor, aten.index_put_.default, aten.index_put.default}
MIXED |= {aten._index_put_impl_.default, aten._pack_padded_sequence.default}


def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """What a GPU has a kernel for, and the CPU has not: a step of a GRU, and what its gradients need."""
    if input_bias is not None:
        input_gates, hidden_gates = input_gates + input_bias, hidden_gates + hidden_bias
    (ir, iz, new), (hr, hz, old) = input_gates.chunk(3, 1), hidden_gates.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (new + r * old).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, old], 1)


def gru_cell_backward(grad, kept, has_bias):
    r, z, n, hx, old = kept.chunk(5, 1)
    by_z, by_n = grad * (hx - n) * (1 - z) * z, grad * (1 - z) * (1 - n * n)
    by_r = by_n * old * (1 - r) * r
    gates = torch.cat([by_r, by_z, by_n], 1), torch.cat([by_r, by_z, by_n * r], 1)
    return *gates, grad * z, *(gate.sum(0) if has_bias else None for gate in gates)


KERNELS = {
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}


class Pretended(torch.Tensor):
    """A tensor of the device: `held` has its numbers."""

    @staticmethod
    def __new__(cls, real):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            real.shape,
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            device=DEVICE,
            requires_grad=False,
        )

    def __init__(self, real):
        self.held = real

    def __repr__(self):
        return f"{self.held!r} on {DEVICE}"

    def tolist(self):
        return self.cpu().tolist()

    def __format__(self, spec):
        return format(self.cpu(), spec)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return compute(func, args, kwargs or {})


def compute(func, args, kwargs):
    given = []
    tree_map_only(torch.Tensor, given.append, (args, kwargs))
    here = [tensor for tensor in given if isinstance(tensor, Pretended)]
    foreign = [tensor for tensor in given if not isinstance(tensor, Pretended) and tensor.dim()]
    target = kwargs.get("device")
    if here and foreign and func not in MIXED:
        raise RuntimeError(f"Expected all tensors to be on the same device, but {func} got some on {DEVICE} and cpu")
    pretends = bool(here) if target is None else torch.device(target).type == DEVICE.type
    generator = kwargs.get("generator")
    if pretends and generator is not None:
        raise RuntimeError(f"Expected a '{DEVICE.type}' device type for generator but found '{generator.device}'")
    wrapped = {id(tensor.held): tensor for tensor in here}
    real_args, real_kwargs = tree_map_only(Pretended, lambda tensor: tensor.held, (args, kwargs))
    if "device" in real_kwargs:
        real_kwargs["device"] = torch.device("cpu")
    made = KERNELS.get(func, func)(*real_args, **real_kwargs)
    if not pretends:
        return made
    if func is aten._pack_padded_sequence.default:  # how many texts are left stays on the CPU
        return Pretended(made[0]), made[1]
    return tree_map_only(torch.Tensor, lambda real: wrapped[id(real)] if id(real) in wrapped else Pretended(real), made)


class Pretending(TorchDispatchMode):
    """New tensors with device="pretend" are of the device as well."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == DEVICE.type:
            return compute(func, args, kwargs)
        return func(*args, **kwargs)
