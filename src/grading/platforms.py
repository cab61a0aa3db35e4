"""Tells from the names in a download of a learning platform who sent each submission, and when.

- Canvas: `doejane_LATE_123_456_notebook.ipynb`, the name last name first, Canvas's number of the student and of the
  file. All files have the time of the download.
- Moodle: a folder `Jane Doe_123_assignsubmission_file_`, or the same in front of the file's name.
- Gradescope: a folder `submission_123`; who and when is in `submission_metadata.yml` beside the folders.
- GitHub Classroom: a repository `SLUG-LOGIN` in the folder `SLUG-submissions`, as its command line clones them. Times
  of commits are the students' own.
"""

import glob
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from booktools.book import BookError

CANVAS = re.compile(r"(?P<name>\w+?)(?P<late>_LATE)?_(?P<id>\d+)_\d+_.+")
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(file|onlinetext).*")
GRADESCOPE = "submission_metadata.yml"
GITHUB, CLONED = "GitHub Classroom", "-submissions"


@dataclass(frozen=True)
class Sender:
    """Who handed something in, as a platform puts it, and when by the platform's own clock, where it tells."""

    platform: str
    name: str = ""
    id: str = ""
    email: str = ""
    late: bool = False
    when: datetime | None = None
    entry: str = ""


def senders(entry: str, metadata: dict[str, list[Sender]]) -> list[Sender]:
    """Who handed in an entry of this name: nobody that the name tells of, one, or the members of a group.

    >>> senders("doejane_LATE_12_34_notebook-1.ipynb", {})
    [Sender(platform='Canvas', name='doejane', id='12', email='', late=True, when=None, entry='')]
    >>> [sender.name for sender in senders("Jane Doe_12_assignsubmission_file_", {})], senders("ada.ipynb", {})
    (['Jane Doe'], [])
    """
    if entry in metadata:
        return metadata[entry]
    entry = unicodedata.normalize("NFC", entry)  # unpacked, an ë may be an e and two dots
    if found := MOODLE.fullmatch(entry):
        return [Sender("Moodle", found["name"], found["id"])]
    if found := CANVAS.fullmatch(entry):
        return [Sender("Canvas", found["name"], found["id"], late=bool(found["late"]))]
    return []


def platform_of(folders: list[Path]) -> str:
    """Whose download these folders look like; nothing where nothing looks like one."""
    names = {path.name for folder in folders for path in folder.iterdir()}
    if GRADESCOPE in names:
        return "Gradescope"
    if any(map(_repositories, folders)):
        return GITHUB
    return next((sender.platform for name in sorted(names) for sender in senders(name, {})), "")


def read_metadata(folder: Path) -> dict[str, list[Sender]]:
    """Who handed in each folder of a Gradescope export, or each repository of a classroom."""
    path = folder / GRADESCOPE
    if not path.is_file():
        return _repositories(folder)
    try:
        return {
            name: [_by_gradescope(name, one, when) for one in about[":submitters"]]
            for name, about in yaml.load(path.read_text(encoding="utf-8"), Plain).items()
            for when in [_moment(about.get(":created_at"))]
        }
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise BookError(f"{path} can't be read as Gradescope's list of submissions ({type(error).__name__}).") from None


def _repositories(folder: Path) -> dict[str, list[Sender]]:
    name = folder.resolve().name
    slug = name.removesuffix(CLONED)
    names = [path.name for path in folder.glob(f"{glob.escape(slug)}-*") if path.is_dir()] if slug != name else []
    return {name: [Sender(GITHUB, id=name.removeprefix(f"{slug}-"), entry=name)] for name in names}


def _by_gradescope(entry: str, one: dict, when: datetime | None) -> Sender:
    name, number, email = (str(one.get(about) or "") for about in (":name", ":sid", ":email"))
    return Sender("Gradescope", name, number, email, when=when, entry=entry)


class Plain(yaml.SafeLoader):
    """Reads plain data alone; what Ruby has marked as its own is plain data, too."""


def _unmarked(loader: Plain, _: str, node: yaml.Node) -> Any:
    match node:
        case yaml.MappingNode():
            return loader.construct_mapping(node, deep=True)
        case yaml.SequenceNode():
            return loader.construct_sequence(node, deep=True)
    return node.value


Plain.add_multi_constructor("!ruby/", _unmarked)


def _moment(when: object) -> datetime | None:
    """A time as YAML reads it: in UTC where it names no zone."""
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    if not isinstance(when, datetime):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
