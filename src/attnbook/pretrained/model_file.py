"""What any file of a language model holds: facts, such as sizes and tokens, and weights."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import Tensor

from attnbook.errors import FileError

T = TypeVar("T")


class Kind(NamedTuple):
    """How weights are packed: so many to a block of so many bytes."""

    weights: int
    size: int
    unpack: Callable[[Tensor], Tensor]


class Packed(NamedTuple):
    """Weights as they stand in the file; nothing is read until they are unpacked."""

    kind: Kind
    shape: tuple[int, ...]
    data: Tensor

    def unpack(self) -> Tensor:
        """Returns the weights in float32, in their own shape."""
        return self.kind.unpack(self.data).view(self.shape)


@dataclass(frozen=True)
class ModelFile:
    """A file's facts and its weights, by their names. The facts may stand in a file beside it."""

    path: Path
    facts: dict[str, Any] = field(repr=False)
    weights: dict[str, Packed] = field(repr=False)
    told: Path
    hint: str = field(default="", repr=False)

    def fact(self, name: str, kind: type[T], default: T | None = None) -> T:
        """A fact that must be there, unless there is a default, and must be of this type."""
        value = self.facts.get(name, default)
        if type(value) is not kind:
            came = "is missing" if value is None else f"is a {type(value).__name__}"
            raise FileError(self.told, f"{name} must be a {kind.__name__}, and {came}", self.hint)
        return value
