"""What a text said when it was translated, found in git by its hash; and which words have changed since."""

import subprocess
from collections.abc import Collection
from difflib import SequenceMatcher
from pathlib import Path

from booktools.book import BookError
from booktools.book.translation import digest, texts_in

AROUND = 3  # words of what stayed, on each side of what changed
LOOKED_AT = 400  # versions of a page, the latest first


def earlier_texts(page: str, root: Path, hashes: Collection[str]) -> dict[str, str]:
    """The texts that a page had at any time, by those of these hashes that history knows."""
    wanted, found = set(hashes), {}
    versions = _git(root, "log", f"-{LOOKED_AT}", "--format=%H", "--", page).split()
    for version in versions:
        if not wanted:
            break
        try:
            texts = texts_in(page, _git(root, "show", f"{version}:./{page}"))
        except (BookError, ValueError, AttributeError):  # a version that could not be read, or a merge half done
            continue
        for text in texts.values():
            if (known := digest(text)) in wanted:
                found[known] = text
                wanted.remove(known)
    return found


def changed_words(before: str, after: str) -> str:
    """What changed in a text, with some words around it.

    >>> changed_words("A query asks, and each key answers it at once.", "A query asks, and every key answers at once.")
    'A query asks, and [-each-] {+every+} key answers [-it-] at once.'
    >>> changed_words("one two three four five six seven eight nine", "one two three four five six seven 8 nine")
    '… five six seven [-eight-] {+8+} nine'
    """
    old, new = before.split(), after.split()
    said = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            said += _shortened(old[a:b], a == 0, b == len(old))
            continue
        said += [f"[-{' '.join(old[a:b])}-]"] * (b > a) + [f"{{+{' '.join(new[c:d])}+}}"] * (d > c)
    return " ".join(said)


def _shortened(words: list[str], is_first: bool, is_last: bool) -> list[str]:
    """Of what stayed, the ends that stand beside a change."""
    begin, end = words[: 0 if is_first else AROUND], words[len(words) if is_last else max(0, len(words) - AROUND) :]
    return words if len(words) <= len(begin) + len(end) + 1 else [*begin, "…", *end]


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, encoding="utf-8")
    return done.stdout if done.returncode == 0 else ""
