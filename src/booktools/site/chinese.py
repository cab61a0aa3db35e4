"""How Chinese is set, as far as its style (front/static/zh.css) has to be told where it holds."""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from booktools.directives.page import edition_of

_HAN, _WORD = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[A-Za-z]{2,}")
_FULL = "\u3000-\u303f\uff00-\uffef"  # such as 、 。 ， ： （ ）
_BLANK = re.compile(rf"(?<=[{_FULL}])\s+|\s+(?=[{_FULL}])|(?<=[\u4e00-\u9fff])\n|\n(?=[\u4e00-\u9fff])")
_LATIN = re.compile(rf"[^{_FULL}\u4e00-\u9fff]+")
_STOPS = re.compile(r"[，。、；：！？）》”’…]{1,2}")
_SENTENCE = 6  # signs of Han at least in a cell of a table that is read rather than looked at
_OF_AUTHORS = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


class LeaveNoBlanks(SphinxTransform):
    """Chinese has no blank beside a full-width sign, and the end of a line of its source is none."""

    default_priority = 100

    def apply(self, **_):
        if edition_of(self.env).language.startswith("zh"):
            leave_no_blanks(self.document)


class SetChinese(SphinxPostTransform):
    """Tell apart stops after formulas and code, Latin letters in emphasis, and cells of tables that hold sentences."""

    default_priority = 901  # after `KeepStops`, which keeps the stops of other languages
    formats = ("html",)

    def run(self, **_):
        if edition_of(self.env).language.startswith("zh"):
            set_chinese(self.document)


def leave_no_blanks(document: nodes.document) -> None:
    for block in document.findall(_is_block):
        before = ""
        for text in list(block.findall(nodes.Text)):
            said = text.astext()
            if not isinstance(text.parent, _OF_AUTHORS):
                said = _BLANK.sub("", said)
                said = said.lstrip() if re.search(f"[{_FULL}]$", before) else said
                text.parent.replace(text, nodes.Text(said))
            before = said


def set_chinese(document: nodes.document) -> None:
    for before in list(document.findall(lambda node: isinstance(node, nodes.math | nodes.literal))):
        _keep_stop(before)
    for emphasis in list(document.findall(nodes.emphasis)):
        _tell_latin(emphasis)
    for entry in document.findall(nodes.entry):
        if len(_HAN.findall(entry.astext())) >= _SENTENCE:
            entry["classes"].append("han")


def _keep_stop(before: nodes.Node) -> None:
    """The stop after a formula or code is told apart, and zh.css leaves no line to begin with it."""
    parent, after = before.parent, before.next_node(descend=False, siblings=True)
    if isinstance(after, nodes.Text) and (stop := _STOPS.match(after.astext())):
        rest = nodes.Text(after.astext()[stop.end() :])
        parent.replace(after, [nodes.inline("", stop[0], classes=["stop"]), rest])


def _tell_latin(emphasis: nodes.emphasis) -> None:
    """Emphasis in Latin letters is slanted; those among Chinese signs stand as they are, without dots."""
    if not _HAN.search(emphasis.astext()):
        emphasis["classes"].append("latin")
        return
    for text in list(emphasis.findall(nodes.Text)):
        parts, done = [], 0
        for latin in _LATIN.finditer(text.astext()):
            parts += [nodes.Text(text.astext()[done : latin.start()]), nodes.inline("", latin[0], classes=["latin"])]
            done = latin.end()
        text.parent.replace(text, [*parts, nodes.Text(text.astext()[done:])])


def _is_block(node: nodes.Node) -> bool:
    """A paragraph, a title, ..., and not a part of one."""
    return isinstance(node, nodes.TextElement) and not isinstance(node, nodes.Inline)


def _mark_english(app, doctree, _docname):
    """What is left in English on a page in another language says so, for those who hear it and for what sets it."""
    if not edition_of(app.env).language.startswith("zh"):
        return
    for node in doctree.findall(_is_block):
        said = "".join(text.astext() for text in node.findall(nodes.Text) if not isinstance(text.parent, _OF_AUTHORS))
        if not isinstance(node, _OF_AUTHORS) and not _HAN.search(said) and len(_WORD.findall(said)) > 1:
            node["classes"].append("language-en")  # which docutils writes as lang="en"


def setup(app):
    app.add_transform(LeaveNoBlanks)
    app.add_post_transform(SetChinese)
    app.connect("doctree-resolved", _mark_english)
