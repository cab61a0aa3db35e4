"""Notes that explain themselves: names in the code by their letters, citations by their entries, and the way back.

A name such as `q_BHLK` says its shape by letters of the notation page. At its first use in a chapter it can be asked
for it; `front/static/notes.js` does the same for citations and numbered equations. Each entry of the references leads
back to where it is cited.
"""

import re
from functools import cache
from html import escape, unescape
from pathlib import Path

from pybtex.database import parse_string

from attnbook.language import count, marks, words

HERE = Path(__file__).parent
_SIZE = re.compile(r"^\| `([A-Z])` \| ([^|]*?)(?::[^|]*)? \|", re.M)
_NAME = re.compile(r'<span class="n">(\w+?_([A-Z]+))</span>')
_CITATION = re.compile(r'<span class="bibtex-citation" id="(\w+)">(.*?)</span>', re.S)
_CITED = re.compile(r'<a class="reference internal" href="[^"#]*#(\w+)" title="([^"]*)">')
_BACK = re.compile(r'<p class="cited">.*?</p>', re.S)
_ENTRY = re.compile(r'(<div class="citation" id="(\w+)".*?</p>)(?=\s*</div>)', re.S)


@cache
def _axis_meanings(text):
    """Returns what each letter of the notation page stands for, in short.

    >>> _axis_meanings(Path("notation.md").read_text("utf-8"))["L"]
    'query length'
    """
    return dict(_SIZE.findall(text))


def _explain_names(body, letters):
    """The first use of each name that ends in its axes is told what they are.

    >>> _explain_names('<span class="n">q_LK</span> <span class="n">q_LK</span>', {"L": "length", "K": "width"})
    '<span class="n" tabindex="0" data-note="length × width">q_LK</span> <span class="n">q_LK</span>'
    """
    told = set()

    def tell(found):
        name, axes = found.groups()
        if name in told or not all(axis in letters for axis in axes):
            return found[0]
        told.add(name)
        note = escape(" × ".join(letters[axis] for axis in axes))
        return f'<span class="n" tabindex="0" data-note="{note}">{name}</span>'

    return _NAME.sub(tell, body)


@cache
def _work_titles(references):
    """The works of a bibliography by their titles, the longest first.

    >>> _work_titles("@misc{a, title={Attention {Is} All}} @misc{b, title={All}}")
    ['attention is all', 'all']
    """
    works = parse_string(references, "bibtex").entries.values()
    return sorted((re.sub("[{}]", "", work.fields["title"]).casefold() for work in works), key=len, reverse=True)


def _name_works(body, known):
    """The first citation of each work in a text carries its title, for the margin of a wide screen.

    >>> _name_works('<a class="reference internal" href="r.html#id1" title="A. Cho. On All. 2014.">Cho</a>', ["on all"])
    '<a class="reference internal" href="r.html#id1" title="A. Cho. On All. 2014." data-work="On All">Cho</a>'
    """
    told = set()

    def tell(found):
        entry, note = found[1], unescape(found[2])
        at, title = next(
            ((note.casefold().find(title), title) for title in known if title in note.casefold()), (-1, "")
        )
        if entry in told or at < 0:
            return found[0]
        told.add(entry)
        return f'{found[0][:-1]} data-work="{escape(note[at : at + len(title)])}">'

    return _CITED.sub(tell, body)


def add_notes(page):
    if page.chapter:
        page.body = _explain_names(page.body, _axis_meanings(page.edition.text("notation.md")))
        page.body = _name_works(page.body, _work_titles(page.edition.text("references.bib")))
        page.app.add_js_file("notes.js", type="module")


def link_citations_back(app, exception):
    """Each entry of the references says where it is cited."""
    page = Path(app.outdir, "references.html")
    if exception or not page.exists():
        return
    cited = {}
    for chapter in sorted(Path(app.outdir, "chapters").glob("*.html")):
        for place, links in _CITATION.findall(chapter.read_text("utf-8")):
            for entry in re.findall(r'references\.html#(\w+)"', links):
                cited.setdefault(entry, {}).setdefault(chapter.name, place)

    def back(found):
        places = cited.get(found[2], {})
        links = (f'<a href="chapters/{name}#{place}">{int(name[:2])}</a>' for name, place in places.items())
        where = count(words(HERE)["cited"], len(places), chapters=marks()["list"].join(links))
        return f'{found[1]}<p class="cited">{where}</p>'

    entries = _BACK.sub("", page.read_text("utf-8"))  # those of the build before
    page.write_text(_ENTRY.sub(back, entries), "utf-8")


def setup(app):
    app.connect("build-finished", link_citations_back)
