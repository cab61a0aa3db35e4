"""Small trained networks as files that a page can read: a line of JSON, then all parameters in two bytes, or in one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

UNIT = 1 / 4096


def to_bytes(models: Mapping[str, nn.Module], **more) -> bytes:
    """The networks under their names; what else is given goes into the first line."""
    shapes = {name: {part: list(x.shape) for part, x in model.named_parameters()} for name, model in models.items()}
    header = json.dumps({"unit": UNIT, "shapes": shapes} | more) + "\n"
    numbers = torch.cat([nn.utils.parameters_to_vector(model.parameters()).detach() for model in models.values()])
    steps = (numbers / UNIT).round()
    if steps.abs().max() > 32767:
        raise ValueError(f"parameters up to {numbers.abs().max():.1f} came; in steps of {UNIT} at most 8 fit.")
    # numbers begin at an even place
    return header.rjust(len(header) + len(header) % 2).encode() + steps.numpy().astype("<i2").tobytes()


def to_single_bytes(model: nn.Module, **more) -> bytes:
    """One network, a byte for each parameter: -127 to 127 steps, of a matrix's own size, that reach its largest number.

    What else is given goes into the first line.
    """
    units, steps = {}, []
    for name, x in model.named_parameters():
        units[name] = float(f"{x.detach().abs().max().item() / 127:.6g}")
        steps.append((x.detach() / units[name]).round().clamp(-127, 127).to(torch.int8).flatten())
    shapes = {name: list(x.shape) for name, x in model.named_parameters()}
    header = json.dumps({"units": units, "shapes": shapes} | more, separators=(",", ":")) + "\n"
    return header.encode() + torch.cat(steps).numpy().tobytes()


def header(path: Path) -> dict:
    """The first line of such a file."""
    return json.loads(path.read_bytes().partition(b"\n")[0])


def unpack(path: Path, models: Mapping[Any, nn.Module]) -> None:
    """Give networks, of the same kinds and in the same order, the parameters of a file; they no longer learn."""
    _, _, steps = path.read_bytes().partition(b"\n")
    numbers = torch.frombuffer(bytearray(steps), dtype=torch.int16) * UNIT
    for model in models.values():
        model.eval().requires_grad_(False)
        size = sum(x.numel() for x in model.parameters())
        nn.utils.vector_to_parameters(numbers[:size].clone(), model.parameters())
        numbers = numbers[size:]


def unpack_single(path: Path, model: nn.Module) -> None:
    """The same for one network and a file that `to_single_bytes` made."""
    units = header(path)["units"]
    _, _, steps = path.read_bytes().partition(b"\n")
    numbers = torch.frombuffer(bytearray(steps), dtype=torch.int8)
    model.eval().requires_grad_(False)
    for (name, x), part in zip(
        model.named_parameters(), numbers.split([x.numel() for x in model.parameters()]), strict=True
    ):
        x.copy_(part.view_as(x) * units[name])
