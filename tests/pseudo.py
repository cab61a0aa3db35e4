"""A book in the language of nobody: every text of its pages in brackets, as a translation of them would stand there."""

import re
from pathlib import Path

from attnbook.language import PSEUDO, speaking
from booktools.book.myst import blocks
from booktools.book.translation import OPENING, write_missing
from tests import ROOT

# What stands before a text on its first line: quote marks, bullets, the marks of a heading.
MARKS = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)]|#+) +)*")
FENCE = re.compile(r"(\s*(?:`{3,}|:{3,})\{)([\w-]+)(\} ?)(.*)")
TITLED = {"admonition", "exercise"}


def bracketed(source: str) -> str:
    """A page's MyST with each of its texts in brackets, and all else as it was.

    >>> print(bracketed("# A *title*\\n\\n- one\\n- two\\n  lines\\n\\n$$x$$"))
    # ⟦Đ A *title*⟧
    <BLANKLINE>
    - ⟦one⟧
    - ⟦two
      lines⟧
    <BLANKLINE>
    $$x$$
    """
    lines = source.split("\n")
    for block in blocks(source):
        start, end = block.map
        if block.type == "inline":
            lines[start:end] = around(lines[start:end])
        elif block.type == "heading":
            lines[start:end] = around(lines[start:end], "⟦Đ ")
        elif block.type in ("fence", "colon_fence") and (opening := FENCE.match(lines[start])):
            lines[start : end - 1] = directive(opening, lines[start + 1 : end - 1])
        elif block.type == "front_matter":
            lines[start:end] = [re.sub(r"(?<=^description: )(.+)", r"⟦\1⟧", line) for line in lines[start:end]]
    return "\n".join(lines)


def around(lines: list[str], opening: str = "⟦") -> list[str]:
    """The lines of a text, or of a row of a table, in brackets. (A heading with a letter more: its anchor stays.)"""
    if lines[0].startswith("|"):
        return [re.sub(r"(?<=\| )([^|]*[^|\s][^|]*)(?= \|)", r"⟦\1⟧", line) for line in lines]
    text = "\n".join(lines).rstrip()
    begin = MARKS.match(text).end()
    return f"{text[:begin]}{opening}{text[begin:]}⟧".split("\n")


def directive(opening: re.Match, inside: list[str]) -> list[str]:
    before, name, after, title = opening.groups()
    options = next((i for i, line in enumerate(inside) if not re.match(r"\s*:[\w-]+:", line)), len(inside))
    body = inside[options:] if name == "widget" else bracketed("\n".join(inside[options:])).split("\n")
    title = f"⟦{title}⟧" if title and name in TITLED else title
    said = [re.sub(r"(?<=^:because: )(.+)", r"⟦\1⟧", line) for line in inside[:options]]
    return [f"{before}{name}{after}{title}", *said, *(body if inside[options:] else [])]


def translate_pages(root: Path, pages: list[str]) -> None:
    """Write the translations of these pages into the language of nobody."""
    with speaking(PSEUDO):
        for page in pages:
            path = write_missing(page, root)
            _, *parts = OPENING.split(path.read_text(encoding="utf-8"))
            texts = (bracketed(text.strip("\n")) for text in parts[2::3])
            made = (f"+++ {' '.join(block)}\n" for block in zip(parts[::3], parts[1::3], strict=True))
            path.write_text("\n".join(f"{line}\n{text}\n" for line, text in zip(made, texts, strict=True)), "utf-8")


def linked_book(folder: Path, toc: str | None = None) -> Path:
    """The book as it stands in a folder of its own, which can have its own translations and contents."""
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name not in ("_build", "translations", "tests"):
            (folder / path.name).symlink_to(path)
    if toc:
        (folder / "_toc.yml").unlink()
        (folder / "_toc.yml").write_text(toc, encoding="utf-8")
    return folder
