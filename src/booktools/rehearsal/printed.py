"""What the cells of a notebook printed, in words, and where that is not what is stored."""

from collections.abc import Iterable, Iterator

from booktools.rehearsal.compare import settle_outputs, tolerance
from booktools.rehearsal.run import keep, merge_streams


def differences(stored: Iterable, fresh: Iterable) -> Iterator[str]:
    """Of each pair of cells that printed something else, its name and both outputs."""
    for then, now in zip(stored, fresh, strict=True):
        if then.cell_type != "code" or (_is_ignored(then) and not _failed(now)):
            continue
        outputs = settle_outputs(then.outputs, [o for o in merge_streams(now.outputs) if keep(o)], tolerance(then))
        before, after = _said(then.outputs), _said(outputs)
        if before != after:
            yield f"  cell {then.id}, stored:\n{_indented(before)}\n  printed:\n{_indented(after)}"


def _is_ignored(cell) -> bool:
    return bool({"nbval-ignore-output", "nbval-skip"} & set(cell.metadata.get("tags", [])))


def _failed(cell) -> bool:
    return any(output.output_type == "error" for output in cell.outputs)


def _said(outputs: list) -> str:
    """What outputs say in words; a picture says nothing."""
    return "\n".join(text for output in outputs for text in _texts(output))


def _texts(output) -> Iterator[str]:
    if output.output_type == "error":
        yield f"{output.ename}: {output.evalue}"
    elif "text" in output:
        yield output.text
    else:
        yield from (text for kind, text in sorted(output.data.items()) if not kind.startswith("image/"))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())
