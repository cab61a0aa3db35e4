"""The titles, points and links of a chapter's assignment; `{assignment} all`: the titles and points of all."""

from pathlib import Path, PurePosixPath

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from attnbook.language import words
from booktools.book import BookError
from booktools.directives import Room
from booktools.directives.page import buttons, edition_of

HERE = Path(__file__).parent


class GradedWork(SphinxDirective):
    optional_arguments = 1

    def run(self):
        book, stem, links = edition_of(self.env), Path(self.env.docname).name, ""
        graded = book.assignments
        if not self.arguments:
            graded = {name: each for name, each in graded.items() if name == stem}
            home = book.home_of(f"assignments/source/{stem}.ipynb")
            root = "../" if home == book.here else "../../"
            links = buttons(home, stem, root, "assignments", words(HERE)["buttons"])
        if not graded:
            raise self.error(f"there is no assignment for {self.env.docname} in assignments/source")
        box = nodes.container()
        for name, each in graded.items():
            source = StringList(each.announce(links).splitlines(), source=f"assignments/source/{name}.ipynb")
            self.state.nested_parse(source, 0, box)
        return [box]


def plain(_directive, page):
    name, say = PurePosixPath(page.page).stem, words(HERE)["plain"]
    if name not in page.edition.assignments:
        raise BookError(f"there is no assignments/source/{name}.ipynb to announce.")
    here = page.edition.home_of(f"assignments/source/{name}.ipynb")
    colab, notebook = here.colab(name, "assignments"), f"{here.site}assignments/{name}.ipynb"
    links = {"colab": f"[{say['open']}]({colab})", "download": f"[{say['download']}]({notebook})"}
    return page.edition.assignments[name].announce(say["links"].format(**links))


def setup(app):
    app.add_directive("assignment", GradedWork)


ROOM = Room(("assignment",), setup, plain)
