"""Pages in several languages: where a page stands in each, and the way to what an edition lacks.

An edition in another language than the book's own has only the pages that are translated. Whatever leads to another
page leads to the book's own edition, a folder above, and says so.
"""

import re
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from attnbook.language import HERE as LANGUAGE
from attnbook.language import words
from booktools.book.contents import contents_without
from booktools.book.edition import Edition, editions
from booktools.book.labels import Label
from booktools.directives.page import edition_of, relative_uri

HERE = Path(__file__).parent
SEARCH = "search"  # which each edition has, of no source


class LeadElsewhere(SphinxPostTransform):
    """A link to a page that the edition lacks leads to the book's own."""

    default_priority = 5  # before MyST and Sphinx look for it

    def run(self, **_):
        edition = edition_of(self.env)
        if not edition.folder:
            return
        for node in list(self.document.findall(addnodes.pending_xref)):
            label = self.label(edition, node)
            if label and not label.url.startswith(edition.here.site):
                name, _, anchor = label.url.removeprefix(edition.here.own.site).replace(".html", "").partition("#")
                text = f"({label.number})" if node["reftype"] == "eq" else label.text
                said = node.children if node["refexplicit"] else [nodes.inline("", text)]
                uri = relative_uri(edition, self.app.builder, self.env.docname, name) + (f"#{anchor}" if anchor else "")
                node.replace_self(nodes.reference("", "", *said, refuri=uri, internal=True, classes=["abroad"]))

    def label(self, edition: Edition, node) -> Label | None:
        """What a link leads to."""
        if node["refdomain"] == "doc":
            page, slug = edition.source_of(node["reftarget"]), node.get("reftargetid")
            return edition.labels.get(f"{page}#{slug}" if slug else page)
        return edition.labels.get(f"#{node['reftarget']}")


def contents(edition: Edition, folder: Path) -> Path:
    """The contents of an edition that lacks pages, as a file: the others are links."""

    def absent(name: str) -> tuple[str, str] | None:
        page = edition.source_of(name)
        label = edition.labels[page]
        return None if edition.has(page) else (label.text, label.url)

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "_toc.yml"
    path.write_text(yaml.safe_dump(contents_without(edition.root, absent), allow_unicode=True), "utf-8")
    return path


def lead_to_others(page) -> None:
    """A page says where it stands in other languages; its drawer and its neighbours, which pages this one lacks."""
    edition, context = page.edition, page.context
    context["home"] = (page.root + "../" * bool(edition.folder)).removeprefix("./")
    source = edition.source_of(page.name)
    there = [each for each in editions(edition.root) if page.name == SEARCH or (source and each.has(source))]
    context["alternates"] = []
    if source and len(there) > 1:
        tags = [_tag(each) for each in there]
        urls = [each.here.page(source) for each in there]
        context["alternates"] = [*zip(tags, urls, strict=True), ("x-default", urls[0])]
    context["switches"] = [
        (_tag(each), _name(each), f"{context['home']}{each.folder}{page.name}.html")
        for each in there
        if each.language != edition.language
    ]
    if not edition.folder:
        return
    toctree = context["toctree"]
    context["toctree"] = lambda **options: _marked(toctree(**options), edition, context["home"])
    for place, beside in (("prev", -1), ("next", 1)):
        if source and (other := _beside(edition, source, beside)):
            name = other.rpartition(".")[0]
            uri = relative_uri(edition, page.app.builder, page.name, name)
            abroad = "" if edition.has(other) else f" <small>{words(HERE)['abroad']}</small>"
            context[place] = {"link": uri, "title": f"{escape(edition.labels[other].text)}{abroad}"}


def _beside(edition: Edition, page: str, step: int) -> str:
    """The page before or after another one in the book; "" where there is none."""
    place = edition.pages.index(page) + step if page in edition.pages else -1
    return edition.pages[place] if 0 <= place < len(edition.pages) else ""


def _marked(listed: str, edition: Edition, home: str) -> str:
    """The chapters in the drawer: those in English only lead there by the site's own ways, and say so."""
    own, said = edition.here.own.site, words(HERE)["abroad"]
    link = rf'<a class="reference external" href="{re.escape(own)}([^"]*)">(.*?)</a>'
    there = rf'<a class="reference internal" hreflang="en" href="{home}\1">\2 <small>{said}</small></a>'
    return re.sub(link, there, listed)


def _tag(edition: Edition) -> str:
    with edition.spoken():
        return words(LANGUAGE)["language"]


def _name(edition: Edition) -> str:
    with edition.spoken():
        return words(HERE)["language"]


def setup(app):
    app.add_post_transform(LeadElsewhere)
