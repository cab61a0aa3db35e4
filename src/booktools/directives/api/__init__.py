"""The reference of the package: `{api} layers` has an entry for each public name of a room, `{api}` alone lists all.

A line `name: page#anchor` in it says which section of the book builds a name; for others it is the first that calls it.
In the code of a chapter, a public name leads to its entry where it is used first.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.book import api
from booktools.book.contents import without_number
from booktools.book.edition import Edition
from booktools.directives import Room
from booktools.directives.page import edition_of, relative_uri

HERE = Path(__file__).parent


class Api(SphinxDirective):
    optional_arguments = 1
    has_content = True

    def run(self):
        if not self.arguments:
            return [self.listed(room) for room in api.names()]
        (room,) = self.arguments
        if room not in api.names():
            raise self.error(f"attnbook has no room {room!r}; it has {', '.join(api.names())}.")
        told = dict(re.split(r":\s*", line, maxsplit=1) for line in self.content if line)
        known = {name.written for name in api.names()[room]}
        sections = edition_of(self.env).sections
        for name, section in told.items():
            if name not in known or section not in sections:
                raise self.error(f"{name}: {section} is a name that {room} lacks, or a section that the book lacks.")
        built = api.uses(edition_of(self.env)) | told
        return [self.entry(name, built.get(name.written, ""), name.written in told) for name in api.names()[room]]

    def listed(self, room: str) -> nodes.section:
        """The title of a room's page and all of its names, each with its link."""
        page = f"{api.FOLDER}/{room}"
        there = self.way(page)
        links = []
        for name in api.names()[room]:
            code = nodes.literal("", name.anchor)
            links += [nodes.reference("", "", code, refuri=f"{there}#{name.anchor}", internal=True), nodes.Text(" ")]
        (head,) = self.parsed(f"{{doc}}`/{page}`")
        title, listed = nodes.title("", "", *head.children), nodes.paragraph("", "", *links, classes=["api-names"])
        return nodes.section("", title, listed, ids=[room], names=[room], classes=["api"])

    def entry(self, name: api.Name, section: str, told: bool) -> nodes.section:
        made = nodes.section(ids=[name.anchor], names=[name.anchor], classes=["api"])
        made += nodes.title("", "", nodes.literal("", name.written))
        made += _listing(api.call(name.written, name.thing))
        made += self.said(name.doc, name)
        if more := list(api.parts(name.thing)):
            items = [
                nodes.definition_list_item(
                    "",
                    nodes.term("", "", nodes.literal("", flat(how))),
                    nodes.definition("", *self.said(doc, name)),
                )
                for how, doc in more
            ]
            made += nodes.definition_list("", *items, classes=["api-methods"])
        made += self.leads(name, section, told)
        return made

    def said(self, doc: str, here: api.Name) -> list[nodes.Node]:
        """What a docstring says; names of the package in it lead to their entries."""
        found = self.parsed(api.markdown(doc))
        every = {name.anchor: name for some in reversed(api.names().values()) for name in some}
        for node in found:
            for code in list(node.findall(nodes.literal)):
                name = every.get(code.astext().removeprefix("attnbook."))
                if name and name != here and not isinstance(code.parent, nodes.reference):
                    there = f"{self.way(f'{api.FOLDER}/{name.room}')}#{name.anchor}"
                    link = nodes.reference("", "", refuri=there, internal=True)
                    code.parent.replace(code, link)
                    link += code
        return found

    def way(self, page: str) -> str:
        return relative_uri(edition_of(self.env), self.env.app.builder, self.env.docname, page)

    def parsed(self, markdown: str) -> list[nodes.Node]:
        held = nodes.Element()
        self.state.nested_parse(StringList(markdown.splitlines()), self.content_offset, held)
        return held.children

    def leads(self, name: api.Name, section: str, told: bool) -> nodes.paragraph:
        """Returns a paragraph of links to the section of the book that treats this name, and to its source."""
        edition, say, parts = edition_of(self.env), words(HERE), []
        if section:
            page, _, anchor = section.partition("#")
            there = self.way(page) + (f"#{anchor}" if anchor else "")
            how = say["exercise"] if name.room == "checks" else say["built" if told else "shown"]
            before, after = how.split("{where}")
            (where,) = self.parsed(place(section, edition))
            link = nodes.reference("", "", *where.children, refuri=there, internal=True)
            parts = [nodes.Text(before), link, nodes.Text(f"{after} · ")]
        source = f"{edition.here.repository}/blob/main/{name.file}"
        return nodes.paragraph("", "", *parts, nodes.reference("", say["source"], refuri=source), classes=["api-leads"])


def _listing(code: str) -> nodes.literal_block:
    return nodes.literal_block(code, code, language="python", classes=["signature"])


def flat(how: str) -> str:
    return re.sub(r",?\n *(?=\))", "", re.sub(r"\(\n *", "(", how)).replace("\n", "").replace(",    ", ", ")


def place(section: str, edition: Edition) -> str:
    """Where the book teaches something, in words."""
    number, title = Path(section).name[:2], without_number(edition.sections.get(section, ""))
    say = words(HERE)["where"]
    if number.isdigit():
        return say["chapter"].format(n=int(number), section=title)
    return say["page"].format(section=title)


def plain(_directive, _page):
    return None


def setup(app):
    app.add_directive("api", Api)


ROOM = Room(("api",), setup, plain, is_read=False)
