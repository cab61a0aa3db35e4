"""Small trained networks as files that a page can read: a line of JSON, then all parameters in two bytes, or in one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

UNIT = 1 / 4096


def to_bytes(models: Mapping[str, nn.Module], **more) -> bytes:
    """The networks under their names; what else is given goes into the first line."""
    shapes = {name: _shapes(model) for name, model in models.items()}
    numbers = torch.cat([nn.utils.parameters_to_vector(model.parameters()).detach() for model in models.values()])
    return first_line(more, unit=UNIT, shapes=shapes) + in_steps(numbers, UNIT)


def in_steps(numbers: Tensor, unit: float) -> bytes:
    """Numbers in two bytes each: so many steps of a unit.

    >>> in_steps(torch.tensor([0.5, -0.25]), unit=1 / 4).hex()
    '0200ffff'
    """
    steps = (numbers / unit).round()
    if steps.abs().max() > 32767:
        raise ValueError(
            f"numbers up to {numbers.abs().max():.1f} came; in steps of {unit} at most {32767 * unit:.1f} fit."
        )
    return steps.numpy().astype("<i2").tobytes()


def to_single_bytes(model: nn.Module, **more) -> bytes:
    """One network, a byte for each parameter: -127 to 127 steps, of a matrix's own size, that reach its largest number.

    What else is given goes into the first line.
    """
    units, steps = [], []
    for x in model.parameters():
        units.append(float(f"{x.detach().abs().max().item() / 127:.6g}"))
        steps.append((x.detach() / units[-1]).round().clamp(-127, 127).to(torch.int8).flatten())
    return _line({"units": units, "shapes": _shapes(model)}, more) + torch.cat(steps).numpy().tobytes()


def _shapes(model: nn.Module) -> dict:
    """Those of a module's own parameters, and of the modules in it, by their names.

    They stand in the order of the parameters, for which JavaScript wants names that are integers first.
    """
    own = {name: list(x.shape) for name, x in model.named_parameters(recurse=False)}
    return own | {name: _shapes(part) for name, part in model.named_children() if any(True for _ in part.parameters())}


def first_line(more: Mapping[str, Any], **facts) -> bytes:
    """What is said of numbers of two bytes: a line of JSON, of an even number of bytes, so that they may follow.

    >>> first_line({"word": "banks"}, n=2)
    b' {"n":2,"word":"banks"}\\n'
    """
    line = _line(facts, more)
    return line.rjust(len(line) + len(line) % 2)


def _line(facts: Mapping[str, Any], more: Mapping[str, Any]) -> bytes:
    return json.dumps({**facts, **more}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


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
    parts = numbers.split([x.numel() for x in model.parameters()])
    for x, part, unit in zip(model.parameters(), parts, units, strict=True):
        x.copy_(part.view_as(x) * unit)
