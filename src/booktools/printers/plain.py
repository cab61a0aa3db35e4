"""MyST Markdown in, plain Markdown out: every directive, role and reference said in words and links."""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from textwrap import dedent

from attnbook.language import words
from booktools.book import HERE as BOOK
from booktools.book import BookError
from booktools.book.edition import Edition
from booktools.book.formulas import with_environment
from booktools.book.labels import Label
from booktools.book.myst import INLINE, Directive, blocks, lines_of, split_target
from booktools.directives import rooms

SILENT = ["div", "container", "tableofcontents", "toctree"]
TEACH = "has no plain Markdown yet. Teach it to src/booktools/printers/plain.py, or write it differently."


@dataclass
class Plain:
    """Converts the texts of one page, in order.

    A directive or role it does not know is an error, so nothing is ever passed on unread.
    """

    page: str  # the source's path in the repository, to which its links are relative
    edition: Edition
    cited: list[str] = field(default_factory=list)

    def convert(self, source: str) -> str:
        lines = source.split("\n")
        out, done = [], 0
        for block in blocks(source):
            start, end = lines_of(block)
            out += [*lines[done:start], *self.block(block, lines[start:end])]
            done = end
        return "\n".join(out + lines[done:]).strip("\n")

    # Blocks: what replaces the lines of one

    def block(self, block, lines: list[str]) -> list[str]:
        match block.type:
            case "inline" | "heading" | "substitution_block":
                return self.inline("\n".join(lines)).split("\n")
            case "hr" | "code_block" | "html_block":
                return lines
            case "front_matter" | "myst_target" | "myst_line_comment" | "myst_block_break":
                return []
            case "math_block" | "math_block_label":
                return _indented(self.formula(block.content, block.info), lines[0], "$$")
            case "amsmath":
                return _indented(f"$$\n{self.edition.formulas.expand(block.content)}\n$$", lines[0], "\\begin")
            case "fence" | "colon_fence":
                directive = Directive.of(block)
                return lines if directive is None else _indented(self.directive(directive), lines[0], block.markup)
        raise BookError(f"{block.type.removesuffix('_open')} (`{lines[0].strip()}`) {TEACH}")

    def directive(self, directive: Directive) -> str:
        name, argument, body = directive.name, directive.argument, directive.body
        if (room := rooms().get(name)) and (said := room.plain(directive, self)) is not None:
            return said
        match name:
            case _ if name in SILENT:
                return self.convert(body) if name in ("div", "container") else ""
            case "admonition" | "dropdown":
                return self.box(argument, body, directive.folded or name == "dropdown")
            case _ if name in words(BOOK)["boxes"]:
                return self.box(words(BOOK)["boxes"][name], f"{argument}\n{body}", directive.folded)
            case "margin" | "sidebar":
                return self.box(argument, body, False)
            case "figure" | "image":
                return self.figure(directive)
            case "math":
                return self.formula(f"{argument}\n{body}".strip(), directive.label)
            case "code-block" | "code" | "sourcecode":
                return f"~~~~{argument}\n{body}~~~~"
            case "bibliography":
                return self.edition.references.listed(self.cited)
        raise BookError(f"the directive {{{name}}} {TEACH}")

    def box(self, title: str, body: str, folded: bool) -> str:
        title, body = self.inline(title), self.convert(body)
        if folded:
            return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
        return _quoted(f"**{title}**\n\n{body}" if title else body)

    def figure(self, directive: Directive) -> str:
        image = f"![{directive.options.get('alt', '')}]({self.image(directive.argument)})"
        return f"{image}\n\n{self.caption(directive.label, directive.body)}" if directive.body.strip() else image

    def caption(self, label: str | None, text: str) -> str:
        number = self.label(f"#{label}").text + ". " if label else ""
        return f"*{number}{self.convert(text)}*"

    def formula(self, tex: str, label: str | None) -> str:
        """As the site sets it; a label gives a number."""
        tex = with_environment(self.edition.formulas.expand(dedent(tex).strip("\n")))
        tag = f"\n\\tag{{{self.label(f'#{label}').number}}}" if label else ""
        return f"$$\n{tex}{tag}\n$$"

    # Inline marks

    def inline(self, text: str) -> str:
        return INLINE.sub(self.mark, text)

    def mark(self, mark: re.Match) -> str:
        if mark["role"]:
            return self.role(mark["role"], re.sub(r"\s+", " ", mark["content"]))
        if mark["dollars"]:
            return mark["dollars"] + self.edition.formulas.expand(mark["formula"]) + mark["dollars"]
        if name := mark["substitution"]:
            here = self.edition.here
            known = {"site": f"<{here.site}>", "source": f"[{words(BOOK)['source']}]({here.repository})"}
            if name not in known:
                raise BookError(f"the substitution {{{{{name}}}}} {TEACH}")
            return known[name]
        if mark["span"]:
            return self.inline(mark["text"])
        if mark["target"] is None:
            return mark[0]
        if mark["image"]:
            return f"![{mark['text']}]({self.image(mark['target'])})"
        return self.link(self.inline(mark["text"]), mark["target"].strip("<>"))

    def role(self, name: str, content: str) -> str:
        match name:
            case "query" | "key" | "value":
                return content
            case "sub" | "sup" | "kbd":
                return f"<{name}>{content}</{name}>"
            case "math":
                return f"${self.edition.formulas.expand(content)}$"
            case "cite" | "cite:p" | "cite:t":
                keys = [key.strip() for key in content.split(",")]
                self.cited += keys
                return self.edition.references.cite(keys, name[-1] if ":" in name else "p")
            case "when" | "right":  # when a task is done, which choice is right: for the page
                return ""
            case "drag":
                return split_target(content)[0] or ""
            case "doc":
                words, target = split_target(content)
                return self.link(words or "", target)
            case "ref" | "numref" | "eq":
                return self.reference(name, *split_target(content))
        raise BookError(f"the role {{{name}}} in {{{name}}}`{content}` {TEACH}")

    def reference(self, role: str, words: str | None, target: str) -> str:
        label = self.label(f"#{target}")
        if role == "eq":
            words = f"({label.number})"
        elif words and role == "numref":
            words = words.replace("%s", label.number).replace("{number}", label.number)
        return f"[{words or self.inline(label.text) or target}]({label.url})"

    def link(self, words: str, target: str) -> str:
        if re.match(r"https?://|mailto:", target):
            return f"[{words}]({target})"
        label = self.label(target)
        return f"[{words or self.inline(label.text)}]({label.url})"

    def label(self, target: str) -> Label:
        """What a link's target means: `#label`, `#heading`, `page.md`, `page#heading` or `page.ipynb#label`."""
        path, _, anchor = target.partition("#")
        page = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), path)) if path else self.page
        pages = [name for name in (page, f"{page}.ipynb", f"{page}.md") if name in self.edition.labels]
        names = [f"#{anchor}", *(f"{name}#{anchor}" for name in pages)] if anchor else pages
        for name in names:
            if name in self.edition.labels:
                return self.edition.labels[name]
        raise BookError(f"a link leads to {target}, but no page of _toc.yml has that name, label or heading.")

    def label_text(self, label: str) -> str:
        """What a reference to a label says."""
        return self.label(f"#{label}").text

    def image(self, path: str) -> str:
        """Sphinx gathers the images of all pages in one folder."""
        return path if re.match(r"https?:", path) else f"{self.edition.here.site}_images/{PurePosixPath(path).name}"


def _indented(text: str, first: str, opening: str) -> list[str]:
    """The lines of a block, each behind what stands before its `opening`: quote marks, a list's bullet."""
    prefix = first[: first.index(opening)]
    rest = re.sub(r"[^\s>]", " ", prefix)
    return [((rest if i else prefix) + line).rstrip() for i, line in enumerate(text.split("\n"))]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
