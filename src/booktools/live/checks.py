"""A check as data for the page: its source, its tensors and its sentences, from `attnbook.checks` itself."""

import ast
import base64
import re
import sys
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from attnbook import check, language
from attnbook.checks import judging
from attnbook.language import words
from booktools.live.source import NotForThePage, folder_name, source_of

HERE = Path(__file__).parent
HANDFUL = HERE.parents[1] / "handful"
_FOLDER = "src/booktools/live/micropython_modules"
JUDGING = {"Wrong", "call", "close", "compare", "describe", "explained", "named", "say", "shape_of", "told"}


def sent_check(name: str) -> dict:
    """What the page is sent of a check. One that can't be run there is refused, and the reason said."""
    try:
        judged = getattr(getattr(check, name, None), "__wrapped__", None)
        if judged is None:
            raise NotForThePage("attnbook.checks has no such `@exercise`")
        tensors: list[Tensor] = []
        source = source_of(sys.modules[judged.__module__], {judged.__name__}, tensors)
        refuse_unknown(source)
    except NotForThePage as why:
        raise NotForThePage(f"check.{name} can't be run on a page: {why}") from None
    said = needed_words(source + judging_source() + (HERE / "micropython_modules/trial.py").read_text("utf-8"))
    return {"check": name, "source": source, "tensors": [tensor_json(tensor) for tensor in tensors], "words": said}


@cache
def judging_source() -> str:
    """Returns the source of the checking module, with the sentences and comparisons that every check imports."""
    return source_of(judging, JUDGING, [])


def tensor_json(tensor: Tensor) -> dict:
    """A tensor as JSON: one number where all are alike; integers, or tenths or hundredths, where these are all
    that is there; else the bytes of floats.
    """
    flat = tensor.detach().contiguous().flatten()
    kind = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    if len(flat) > 1 and (flat == flat[0]).all():
        return kind | {"all": flat[0].item()}
    if not tensor.is_floating_point():
        return kind | {"data": flat.int().tolist()}
    for per in (1, 10, 100) if flat.isfinite().all() else ():
        parts = (flat.double() * per).round()
        if torch.equal((parts / per).to(tensor.dtype), flat) and (parts.abs() < 2**31).all():
            return kind | {"data": parts.int().tolist(), "per": per}
    wide = flat.double() if tensor.dtype == torch.float64 else flat.float()
    return kind | {"bytes": base64.b64encode(wide.numpy().tobytes()).decode()}


def needed_words(source: str) -> dict:
    """Those of the checks' words, by folder, whose ids a source names; and how the language writes numbers.

    In pairs, as MicroPython's JSON forgets the order.
    """
    ids = set(re.findall(r"\w+", source))
    texts = {
        group: [[name, text] for name, text in texts.items() if name in ids or (group == "layers" and group in ids)]
        for group, texts in words(judging.HERE).items()
    }
    marks = {"number": [*words(language.HERE)["number"].items()]}
    return {folder_name(judging.HERE): texts, folder_name(language.HERE): marks}


def refuse_unknown(source: str) -> None:
    """Names of torch and of the library that the page lacks are said when the book is made, not when it is read."""
    known = {"torch": names_of_torch(), "attnbook": names_of_library()}
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Name("torch"), name) if name not in known["torch"]:
                raise NotForThePage(f"it asks for torch.{name}, which {_FOLDER}/torch lacks")
            case ast.ImportFrom("attnbook", names):
                for alias in names:
                    if alias.name not in known["attnbook"]:
                        where = f"{_FOLDER}/attnbook/__init__.py"
                        raise NotForThePage(f"it asks for attnbook.{alias.name}, which {where} lacks")


@cache
def names_of_torch() -> set[str]:
    """What `torch` holds on the page: the operations of Handful, and what micropython_modules/torch defines."""
    own = defined(HERE / "micropython_modules/torch/__init__.py")
    return operations() | own | {"nn", "optim", "autograd", "overrides"}


@cache
def operations() -> set[str]:
    """The names that Handful knows, as its README lists them; a test compares them with its table."""
    return set(re.findall(r"`(\w+)`", (HANDFUL / "README.md").read_text("utf-8").partition("## Names")[2]))


def names_of_library() -> set[str]:
    return defined(HERE / "micropython_modules/attnbook/__init__.py")


@cache
def defined(file: Path) -> set[str]:
    """The names that a module of the page defines."""
    tree = ast.parse(file.read_text("utf-8"))
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return assigned | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
