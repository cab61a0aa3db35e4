"""What the site adds to Sphinx: its own page frame, widgets, dropdowns, and no request to another host."""

import os
import re
from gettext import NullTranslations
from pathlib import Path
from shutil import rmtree
from typing import Any

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.locale import admonitionlabels, translators
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from attnbook.language import words
from attnbook.widgets.shared.files import page_files
from booktools import live
from booktools.book import HERE as BOOK
from booktools.book.cell_kinds import fold_on_page
from booktools.book.contents import DECK
from booktools.book.deck import Deck
from booktools.book.edition import edition
from booktools.book.labels import anchors_of
from booktools.directives import front
from booktools.directives.page import edition_of, raw
from booktools.site.other_editions import contents
from booktools.site.style import join_styles

HERE = Path(__file__).parent
FRONT = HERE / "front"
ROLES = ("query", "key", "value")


def colour_role(name):
    """The role `name`: a word in the colour of queries, keys or values."""

    def role(_role, rawtext, text, _lineno, _inliner, options=None, content=None):
        return [nodes.inline(rawtext, text, classes=[f"attn-{name}"])], []

    return role


class Dropdowns(SphinxPostTransform):
    """A box of class `dropdown` becomes <details>: it opens without a script, by search in the page, and on paper."""

    default_priority = 400  # after exercises have got their numbers and titles
    formats = ("html",)

    def run(self):
        boxes: list[Any] = list(self.document.findall(is_dropdown))
        for box in boxes:
            title, body = split_title(box)
            opening = f'<details class="admonition {" ".join(box["classes"])}"{html_id(box)}><summary>'
            place = box.parent.index(box)
            box.parent[place : place + 1] = [raw(opening), *title, raw("</summary>"), *body, raw("</details>")]


class KeepAnchors(SphinxTransform):
    """A heading in another language keeps the anchor of the English one, which links, terms and readers' marks name."""

    default_priority = 100  # before links to headings are resolved

    def apply(self, **_):
        page = Path(self.env.doc2path(self.env.docname)).relative_to(self.app.srcdir).as_posix()
        headings = [entry for entry in edition_of(self.env).entries.get(page, ()) if entry.kind == "heading"]
        if all(heading.english == heading.said for heading in headings):
            return
        sections: list[Any] = [
            each
            for each in self.document.findall(nodes.section)
            if isinstance(each[0], nodes.title) and "api" not in each["classes"]  # which `{api}` makes
        ]
        if len(headings) != len(sections):
            raise ExtensionError(f"{page}: Sphinx counts {len(sections)} headings, the book {len(headings)}")
        slugs = {}
        for heading, section in zip(headings, sections, strict=True):
            slug, anchor = anchors_of(heading)
            was = section["ids"][0]
            if slug in slugs or self.document.ids.get(anchor, section) is not section:
                continue
            section["ids"][0], section["slug"] = anchor, slug
            del self.document.ids[was]
            self.document.ids[anchor] = section
            self.document.nameids |= {name: anchor for name, known in self.document.nameids.items() if known == was}
            slugs[slug] = (section.line, anchor, section[0].astext())
        known: Any = self.document
        known.myst_slugs = self.env.metadata[self.env.docname]["myst_slugs"] = slugs


def is_dropdown(node):
    return isinstance(node, nodes.Admonition) and isinstance(node, nodes.Element) and "dropdown" in node["classes"]


def split_title(box):
    """The children of a box's title, and the rest; a box such as `hint` brings its title as a word."""
    if isinstance(box[0], nodes.title):
        return box[0].children, box.children[1:]
    return [nodes.Text(admonitionlabels[box.tagname])], box.children


def html_id(node):
    return f' id="{node["ids"][0]}"' if node["ids"] else ""


def number_as_the_edition(app, env):
    """Figures, equations and exercises have the numbers that the book gave them, which Sphinx can't know."""
    edition, kinds_of = edition_of(env), {"figure": "figure", "displaymath": "equation", "exercise": "exercise"}
    for docname, kinds in env.toc_fignumbers.items():
        page = Path(env.doc2path(docname)).relative_to(app.srcdir).as_posix()
        for kind, numbers in kinds.items():
            given = [entry.number for entry in edition.entries.get(page, ()) if entry.kind == kinds_of.get(kind)]
            if kind in kinds_of and len(given) != len(numbers):
                raise ExtensionError(f"{page}: Sphinx counts {len(numbers)} of the kind {kind}, the book {len(given)}")
            for place, label in enumerate(numbers):
                number = given[place] if kind in kinds_of else str(place + 1)
                numbers[label] = tuple(map(int, number.split(".")))


class Texts(NullTranslations):
    """What Sphinx and its extensions say, by its English, in our words."""

    def __init__(self, texts):
        super().__init__()
        self.texts = texts

    def gettext(self, message):
        return self.texts.get(message, message)


def _configure(app, config):
    made = edition(Path(app.srcdir))
    here = made.here
    config.language = os.environ["ATTNBOOK_LANGUAGE"] = made.language
    if made.folder:
        config.external_toc_path = str(contents(made, Path(app.doctreedir)))
    say, core = words(HERE), words(BOOK)
    config.templates_path = [str(FRONT / "templates"), *config.templates_path]
    config.html_static_path = [str(FRONT / "static"), *config.html_static_path]
    config.html_favicon = str(FRONT / "static/favicon.svg")
    config.html_title = say["title"]
    config.html_baseurl = here.site
    config.nb_custom_formats = {DECK: ["myst_nb.core.read.standard_nb_read", {}, False]}
    config.myst_substitutions |= {"site": f"<{here.site}>", "source": f"[{core['source']}]({here.repository})"}
    config.nb_code_prompt_show, config.nb_code_prompt_hide = say["code"]["show"], say["code"]["hide"]
    config.numfig_format |= {kind: core["numbered"][kind].format(n="%s") for kind in ("exercise", "figure")}
    admonitionlabels.update(core["boxes"])
    app.translator = translators["general", "sphinx"] = Texts(say["sphinx"])
    translators["general", "exercise"] = Texts({"Exercise": core["exercise"], "Solution": say["solution"]})


def _read_edition(app, docname, source):
    """Sphinx reads what the edition says; checks and our solutions are folded."""
    page = Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
    edition = edition_of(app.env)
    if page.endswith(DECK):
        source[0] = _composed(app, edition, edition.taught(docname))
        return
    if (overlay := edition.overlay(page)).is_file():  # a page with a dependency that is not there is read at each build
        app.env.note_dependency(str(overlay))
    source[0] = fold_on_page(edition.notebook(page)) if page.endswith(".ipynb") else edition.text(page)


def _composed(app, edition, chapter):
    """The source of a chapter's deck, which is made of its outline and of the chapter."""
    app.env.note_dependency(edition.page_of(chapter))
    return nbformat.writes(Deck.read(edition, chapter).notebook())


def _keep_decks(app, config):
    """Decks of the book's chapters are pages that no table of contents names."""
    decks = edition(Path(app.srcdir)).decks.values()
    config.exclude_patterns = [each for each in config.exclude_patterns if each not in decks]


def _name_parts(app, doctree):
    """The parts of the book, which _toc.yml calls by their ids, get their names."""
    for tree in doctree.findall(addnodes.toctree):
        if part := tree.get("caption"):
            if part not in words(HERE)["parts"]:
                raise ExtensionError(
                    f"_toc.yml has the caption {part}; say in booktools/site/en.json what part of the book it is"
                )
            tree["caption"] = words(HERE)["parts"][part]


def keep_shares_whole(app, doctree):
    """No line ends between a number and its %."""
    for text in list(doctree.findall(nodes.Text)):
        whole = re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text)
        if whole != text and not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw):
            text.parent.replace(text, nodes.Text(whole))


def _copy_files(app):
    """What widgets and rooms bring, before a page is written: Sphinx adds a checksum to its address."""
    if app.builder.format != "html":
        return
    widgets = {f"widgets/{name}": content for name, content in page_files().items()}
    for name, content in (widgets | front() | live.served_files()).items():
        target = Path(app.outdir, "_static", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _drop_unused_files(app, _exception):
    """The frame, icons and translations of the theme, which no page asks for: 8 MB."""
    shared = ["cards"] if edition_of(app.env).folder else []  # those of the book's own edition
    for name in ("images", "locales", "scripts", "styles", "vendor", *shared):
        rmtree(Path(app.outdir, "_static", name), ignore_errors=True)
    for macros in Path(app.outdir, "_static").glob("*webpack-macros.html"):
        macros.unlink()


def style(app, exception):
    if not exception and app.builder.format == "html":
        join_styles(Path(app.outdir))


def setup(app):
    for name in ROLES:
        app.add_role(name, colour_role(name))
    app.add_transform(KeepAnchors)
    app.add_post_transform(Dropdowns)
    app.connect("config-inited", _configure)
    app.connect("config-inited", _keep_decks, priority=990)  # after the contents have excluded what they don't name
    app.connect("builder-inited", _copy_files)
    app.connect("source-read", _read_edition)
    app.connect("doctree-read", _name_parts, priority=400)  # before Sphinx notes what the contents are
    app.connect("doctree-read", keep_shares_whole)
    app.connect("env-check-consistency", number_as_the_edition)
    app.connect("build-finished", _drop_unused_files)
    app.connect("build-finished", style, priority=900)  # after the theme has written its colours of code
