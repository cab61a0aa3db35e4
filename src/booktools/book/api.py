"""The public names of `attnbook`, by the rooms of the package: how each is called, what its docstring says, and which
section of the book builds it.

Sphinx's autodoc was tried on the same docstrings. It reads them as reStructuredText, which they are not: it took the
lists of options for block quotes, wanted an address for each `torch.Tensor`, and its entries are no sections that
search and the page's contents know. `inspect` and the parser of the book's own pages are less.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from docutils.nodes import make_id

import attnbook
from attnbook import tasks
from attnbook._public import HOMES, MODULES
from booktools.book.edition import Edition

FOLDER = "api"
CHECKS = f"{FOLDER}/checks"  # each has an exercise, by which it is looked for
ROOMS = ("layers", "models", "learning", "tasks", "checks", "plots", "pretrained", "widgets")  # a page each
MORE = "more"  # the page of all that stands in no room
WIDE = 52  # of a line that a phone shows whole
_USED = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*(?=\()")  # what is called
_TASKS = re.compile(r"attnbook\.tasks(?:\.(\w+))?(?: import (.*))?")
_OPTION = re.compile(r"(\S.*?) {2,}(\S.*)")


@dataclass(frozen=True)
class Name:
    """A public name, as one writes it after `from attnbook import …`: `attention`, or `plots.heatmap`."""

    written: str
    room: str  # the page of its entry
    thing: Any

    @property
    def anchor(self) -> str:
        return self.written.rpartition(".")[2]

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.thing) or ""

    @property
    def file(self) -> str:
        """The path of the file that defines it, in the repository."""
        thing = inspect.unwrap(self.thing)
        path = Path(inspect.getsourcefile(thing) or "").relative_to(Path(attnbook.__file__).parents[1])
        line = "" if inspect.ismodule(thing) else f"#L{inspect.getsourcelines(thing)[1]}"
        return f"src/{path.as_posix()}{line}"


@cache
def names() -> dict[str, list[Name]]:
    """The public names by the pages on which they stand."""
    found: dict[str, list[Name]] = {room: [] for room in (*ROOMS, MORE)}
    for name, module in HOMES.items():
        room = module.partition(".")[0]
        page = room if room in ROOMS else MORE
        found[page].append(Name(name, page, getattr(attnbook, name)))
    for name, module in MODULES.items():
        room, whole = module if module in ROOMS else MORE, import_module(f"attnbook.{module}")
        found[room] += [Name(f"{name}.{each}", room, getattr(whole, each)) for each in _public(whole)]
    for task in iter_modules(tasks.__path__):  # each with all that it offers
        found["tasks"].append(Name(f"tasks.{task.name}", "tasks", import_module(f"attnbook.tasks.{task.name}")))
    return found


def _public(module) -> list[str]:
    """What a module offers: what it says, or all of its package's functions."""
    mine = (
        name
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__.startswith(module.__name__) and not name.startswith("_")
    )
    return getattr(module, "__all__", None) or sorted(mine)


# How it is called


def call(written: str, thing: Any) -> str:
    """Returns a signature on one line, or on a line for each parameter.

    >>> print(call("causal", attnbook.causal))
    causal(
        L: int,
        M: int | None = None,
        *,
        device=None,
    ) -> Tensor
    >>> print(call("padding", lambda lengths, M=None: None))
    padding(lengths, M=None)
    """
    if isinstance(thing, property):
        return written
    if inspect.ismodule(thing):
        return f"from attnbook.tasks import {written.rpartition('.')[2]}"
    if isinstance(thing, type) and hasattr(thing, "class_own_traits"):
        given = [f"{name}={short(repr(trait.default_value))}" for name, trait in inputs(thing).items()]
        returns = ""
    else:
        signature = inspect.signature(thing)
        parts = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
        given = list(parameters(parts))
        told = signature.return_annotation
        returns = "" if isinstance(thing, type) or told in (signature.empty, None) else f" -> {annotation(told)}"
    line = f"{written}({', '.join(given)}){returns}"
    if len(line) <= WIDE or not given:
        return line
    return "\n".join([f"{written}(", *(f"    {each}," for each in given), f"){returns}"])


def inputs(widget: Any) -> Mapping[str, Any]:
    """A widget's traits that a reader or an author sets; its files are no such."""
    traits = widget.class_own_traits(sync=True).items()
    return {name: trait for name, trait in traits if not isinstance(trait.default_value, bytes)}


def parameters(parts: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parts:
        if each.kind is each.KEYWORD_ONLY and not starred:
            yield "*"
        starred |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        typed = each.annotation is not each.empty
        kind = f": {annotation(each.annotation)}" if typed else ""
        equals = " = " if typed else "="
        default = "" if each.default is each.empty else equals + short(repr(each.default))
        yield f"{stars}{each.name}{kind}{default}"


def annotation(told: Any) -> str:
    return short(inspect.formatannotation(told))


def short(text: str) -> str:
    """A type or a value without the modules that it comes from.

    >>> short("collections.abc.Callable[[torch.Tensor], float]"), short("<class 'torch.nn.RMSNorm'>"), short("'post'")
    ('Callable[[Tensor], float]', 'RMSNorm', '"post"')
    """
    if re.fullmatch(r"'[^'\"]*'", text):
        return f'"{text[1:-1]}"'
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text)
    text = re.sub(r"<.*>|\bUndefined\b", "...", text)
    return "Callable" if text.startswith("Callable[") and len(text) > WIDE // 2 else text


# What its docstring says


def markdown(doc: str) -> str:
    r"""A docstring as Markdown: examples are code, and its options a list.

    >>> print(markdown("Fills.\n\npad, stop  what fills\n           a row\nlength     of it"))
    Fills.
    <BLANKLINE>
    `pad`, `stop`
    : what fills a row
    <BLANKLINE>
    `length`
    : of it
    """
    return "\n\n".join(map(block, re.split(r"\n{2,}", inspect.cleandoc(doc))))


def block(text: str) -> str:
    lines = text.splitlines()
    if text.startswith(">>>"):
        shown = re.sub(r" *# doctest:.*", "", text).replace("<BLANKLINE>", "")
        return f"```pycon\n{shown}\n```"
    if len(lines) > 1 and _OPTION.fullmatch(lines[0]):
        return options(lines)
    return text


def options(lines: list[str]) -> str:
    found: list[list[str]] = []
    for line in lines:
        if option := _OPTION.fullmatch(line):
            found.append([*option.groups()])
        else:
            found[-1][1] += f" {line.strip()}"
    coded = ((re.sub(r"[^,\s](?:\([^)]*\)|[^,(])*", r"`\g<0>`", name), said) for name, said in found)
    return "\n\n".join(f"{name}\n: {said}" for name, said in coded)


def parts(thing: Any) -> Iterator[tuple[str, str]]:
    """What a class, or a module of tasks, has beside, where a docstring tells: how it is called, and that docstring."""
    whole, is_class = inspect.ismodule(thing), isinstance(thing, type)
    for name, made in vars(thing).items() if whole or is_class else ():
        part = inspect.unwrap(made.__func__ if isinstance(made, classmethod | staticmethod) else made)
        ours = inspect.isfunction(part) or isinstance(part, property | type)
        if name.startswith(("_", "extra_")) or not ours or not part.__doc__:  # its own, not one that it inherits
            continue
        if is_class:
            yield call(f"{'' if part is made else thing.__name__}.{name}", part), inspect.cleandoc(part.__doc__)
        elif part.__module__ == thing.__name__:
            yield call(f"{thing.__name__.rpartition('.')[2]}.{name}", part), inspect.cleandoc(part.__doc__)


# Where the book builds it


@cache
def uses(edition: Edition) -> dict[str, str]:
    """The first section whose code uses each name, as page#anchor, for those that some chapter uses."""
    first = {}
    for section, source in calls(edition.own):  # a heading keeps its anchor in each language
        for used in _USED.findall(source):
            first.setdefault(used, section)
        for folder, taken in _TASKS.findall(source):
            for task in [folder] if folder else re.findall(r"\w+", taken):
                first.setdefault(f"tasks.{task}", section)
    every = (name for some in names().values() for name in some)
    keys = {name.written: name.anchor if name.room == "widgets" else name.written for name in every}
    return {written: first[key] for written, key in keys.items() if key in first}


def calls(edition: Edition) -> Iterator[tuple[str, str]]:
    """The code of the chapters, with the section in which it stands."""
    for chapter in edition.chapters:
        page = f"chapters/{chapter.stem}"
        section = page
        for cell in edition.notebook(edition.page_of(chapter)).cells:
            if cell.cell_type == "markdown":
                for heading in re.findall(r"^#+ (.*)$", cell.source, re.MULTILINE):
                    section = f"{page}#{make_id(re.sub(r'[`$*]', '', heading))}"
            else:
                yield section, cell.source
