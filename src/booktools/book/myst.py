"""Reading MyST Markdown: its blocks, with the lines they come from, and its inline marks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import yaml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

# As `myst_enable_extensions` in _config.yml.
EXTENSIONS = {"amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "substitution"}
# Blocks of blocks that have no counterpart in plain Markdown: given as one piece.
WHOLE = {"dl_open", "footnote_reference_open"}
# One alternative for each inline mark that hides or means something; the leftmost match wins, as in the parser.
INLINE = re.compile(
    r"""
    (?P<escape>  \\. )
  | \{(?P<role>[\w:+-]+)\} (?P<fence>`+)(?!`) (?P<content>.+?) (?P=fence)
  | \{\{\s*(?P<substitution>\w+)\s*\}\}
  | (?P<code>    (?P<ticks>`+)(?!`) .+? (?<!`)(?P=ticks)(?!`) | `+ )
  | (?P<comment> <!--.*?--> )
  | (?P<dollars> \$\$?) (?P<formula>(?:\\.|[^$\\])+) (?P=dollars)
  | (?P<image>   !?) \[ (?P<text>(?:\\.|[^\[\]\\]|\[[^\[\]]*\])*) \]
                     (?: \( \s* (?P<target><[^>\n]*>|(?:[^\s()]|\([^\s()]*\))*) (?P<title>\s+"[^"]*")? \s* \)
                         (?: \{[^{}`]*\}(?!`) )?
                       | (?P<span>\{[.\#][^{}`]*\}) )
    """,
    re.VERBOSE | re.DOTALL,
)


@cache
def parser():
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)


def blocks(source: str) -> Iterator[Token]:
    """The pieces of a Markdown text that hold no other block of it: paragraphs, headings, fences, formulas, ...

    >>> [(block.type, block.map) for block in blocks("# Title\\n\\n- one\\n- two\\n\\n~~~\\ncode\\n~~~")]
    [('heading', [0, 1]), ('inline', [2, 3]), ('inline', [3, 4]), ('fence', [5, 8])]
    """
    done, heading = 0, False
    for token in parser().parse(source):
        if (token.nesting == 0 or token.type in WHOLE) and token.map and token.map[0] >= done:
            if heading and token.type == "inline":
                token.type = "heading"
            done = token.map[1] + (token.type == "amsmath")  # which counts its lines one short
            token.map = [token.map[0], done]
            yield token
        heading = token.type == "heading_open"


def lines_of(block: Token) -> list[int]:
    """The first line of one of these blocks, and the one after its last."""
    return block.map  # pyrefly: ignore[bad-return] (`blocks` gives none without)


@dataclass(frozen=True)
class Directive:
    """A fence whose info string starts with a name in braces.

    >>> Directive.of(next(blocks("```{note} Read\\n:class: dropdown\\nthis\\n```")))
    Directive(name='note', argument='Read', options={'class': 'dropdown'}, body='this\\n')
    """

    name: str
    argument: str
    options: dict[str, str]
    body: str

    @classmethod
    def of(cls, fence: Token) -> "Directive | None":
        """None for a fence that holds code."""
        named = re.match(r"\{([^}\s]+)\}\s*(.*)", fence.info.strip())
        if not named:
            return None
        if block := re.match(r"---\n(.*?)\n---\n", fence.content, re.DOTALL):
            options, start = yaml.safe_load(block[1]), block.end()
        else:
            (lines,) = re.findall(r"\A(?::[\w-]+:.*\n)*", fence.content)
            options = {key: value.strip() for key, value in re.findall(r"^:([\w-]+):(.*)$", lines, re.MULTILINE)}
            start = len(lines)
        return cls(named[1], named[2].strip(), options, fence.content[start:])

    @property
    def label(self) -> str | None:
        return self.options.get("label") or self.options.get("name")

    @property
    def folded(self) -> bool:
        return "dropdown" in self.options.get("class", "").split()


def split_target(text: str) -> tuple[str | None, str]:
    """The words and the target of a role such as {ref}.

    >>> split_target("the formula <eq-attention>"), split_target("eq-attention")
    (('the formula', 'eq-attention'), (None, 'eq-attention'))
    """
    named = re.fullmatch(r"(.+?)\s*<([^<>]+)>", text, re.DOTALL)
    return (named[1], named[2]) if named else (None, text)
