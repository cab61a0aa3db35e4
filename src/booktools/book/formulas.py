"""Formulas without the site's own macros and colour classes: what any MathJax shows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from attnbook.colours import LIGHT
from booktools.book import BookError


def with_environment(tex: str) -> str:
    r"""A formula whose lines break needs an environment, if it doesn't bring one.

    >>> print(with_environment(r"a \\ b"), with_environment("a"), with_environment(r"\begin{cases}a \\ b\end{cases}"))
    \begin{split}a \\ b\end{split} a \begin{cases}a \\ b\end{cases}
    """
    return rf"\begin{{split}}{tex}\end{{split}}" if r"\\" in tex and not tex.startswith(r"\begin") else tex


@dataclass(frozen=True)
class Formulas:
    """Expands the macros of _config.yml, and turns `\\class` into a colour, or leaves it out where there are none.

    >>> plain = Formulas({"Q": "\\\\class{attn-query}{Q}", "row": ["#1_{#2}", 2]}, {"attn-query": "#005ea8"})
    >>> print(plain.expand(r"\\row{\\Q}{i}"))
    {\\color{#005ea8}{Q}}_{i}
    """

    macros: dict[str, str | list]
    colours: dict[str, str] | None = None

    @classmethod
    def read(cls, settings: dict) -> "Formulas":
        macros = ((settings.get("sphinx") or {}).get("config") or {}).get("formula_macros") or {}
        colours = {name: lightened(str(colour)) for name, colour in LIGHT.items() if name.startswith("attn-")}
        return cls(macros, colours)

    def expand(self, tex: str) -> str:
        names = [rf"{re.escape(name)}(?![A-Za-z])" for name in [*self.macros, "class"]]
        command = re.compile(rf"(?<!\\)((?:\\\\)*)\\({'|'.join(names)})")
        for _ in range(1000):
            found = command.search(tex)
            if not found:
                return tex
            replacement, rest = self.replace(found[2], tex[found.end() :])
            tex = tex[: found.start()] + found[1] + replacement + rest
        raise BookError(f"the macros in _config.yml never end: {tex[:60]} ...")

    def replace(self, name: str, rest: str) -> tuple[str, str]:
        """Returns the expansion of the command `name`, and what is left after its arguments."""
        if name == "class":
            (kind, body), rest = arguments(rest, 2)
            if self.colours is None:
                return f"{{{body}}}", rest
            if kind not in self.colours:
                raise BookError(f"\\class{{{kind}}} has no colour; these have one: {', '.join(self.colours)}.")
            return f"{{\\color{{{self.colours[kind]}}}{{{body}}}}}", rest
        macro = self.macros[name]
        body, count = (macro, 0) if isinstance(macro, str) else macro
        given, rest = arguments(rest, count)
        return re.sub(r"#(\d)", lambda hole: given[int(hole[1]) - 1], body), rest


def arguments(tex: str, count: int) -> tuple[list[str], str]:
    """The first `count` arguments, each a group in braces, a command or one character, and the rest.

    >>> arguments("{a{b}} \\\\pi c", 2)
    (['a{b}', '\\\\pi'], ' c')
    """
    found = []
    for _ in range(count):
        tex = tex.lstrip()
        end = _group_end(tex) if tex.startswith("{") else len(re.findall(r"\\[A-Za-z]+|\\.|.|", tex)[0])
        found.append(tex[1 : end - 1] if tex.startswith("{") else tex[:end])
        tex = tex[end:]
    return found, tex


def _group_end(tex: str) -> int:
    """Returns the position at which the group that opens a formula ends."""
    depth = 0
    for brace in re.finditer(r"\\.|[{}]", tex):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return brace.end()
    raise BookError(f"a brace is never closed in {tex}")


def lightened(colour: str) -> str:
    """The colour mixed with white, while it can be read on white (4.5 to 1): Colab's pages may be dark instead.

    >>> lightened("#b00058"), lightened("#000000")
    ('#c64787', '#757575')
    """
    parts = bytes.fromhex(colour[1:])
    mixed = ([round(part + (255 - part) * share / 100) for part in parts] for share in range(100, -1, -1))
    return next(("#" + bytes(mix).hex() for mix in mixed if 1.05 / (luminance(mix) + 0.05) >= 4.5), colour)


def luminance(colour: Iterable[int]) -> float:
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
