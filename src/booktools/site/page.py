"""A page between Sphinx and its file: the steps by which it becomes a page of the book, each with a name.

They work on text. A page is up to 400 kB of HTML, and to parse and write it again takes longer than all of Sphinx.
"""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

from attnbook import language
from attnbook.language import words
from attnbook.plots.renderings import dark
from attnbook.widgets import all_widgets
from attnbook.widgets.shared.base import as_json, page_words
from attnbook.widgets.shared.files import modules_of, without_comments
from booktools import live
from booktools.book.contents import Chapter, last_green
from booktools.book.edition import Edition
from booktools.book.widget_html import widgets_in
from booktools.directives.exercise import HERE as EXERCISE
from booktools.directives.page import edition_of
from booktools.directives.slide import HERE as SLIDE
from booktools.site import link_preview
from booktools.site.chapter_head import chapter_head, ending, first_slide, last_run
from booktools.site.content_security_policy import content_security_policy, first_paint

HERE = Path(__file__).parent
PIXELS = 1.55  # of a page to a point of a figure: its letters are a little smaller than the text's
OF_DECKS = {f"_static/{name}.js" for name in ("touch", "widgets/shared/host", "slide")}
UNUSED_SCRIPTS = {f"_static/{name}.js" for name in ("scripts/sphinx-book-theme", "doctools", "sphinx_highlight")}
LATER_SCRIPTS = {"_static/clipboard.min.js", "_static/copybutton.js"}  # which book.js brings

log = logging.getLogger(__name__)


@dataclass
class Page:
    """What Sphinx gives to its template, `context`, with the text of the page in it."""

    app: Sphinx
    name: str
    context: dict

    @property
    def body(self) -> str:
        return self.context.get("body", "")

    @body.setter
    def body(self, body: str) -> None:
        self.context["body"] = body

    @cached_property
    def edition(self) -> Edition:
        return edition_of(self.app.env)

    @cached_property
    def chapter(self) -> Chapter | None:
        return next((each for each in self.edition.chapters if self.name == f"chapters/{each.stem}"), None)

    @cached_property
    def taught(self) -> Chapter | None:
        """The chapter whose deck the page is."""
        return self.edition.taught(self.name)

    @property
    def root(self) -> str:
        """The way from the page to the first one's folder."""
        return self.context["pathto"]("", 1).removesuffix("#")

    @property
    def widgets(self) -> list[str]:
        """The names of its widgets, each once."""
        return sorted(set(widgets_in(self.body)))


# The steps


def say_copy(page: Page) -> None:
    """The buttons that copy code have texts in a script of their own, English where it doesn't know the language."""
    script = Path(page.app.outdir, "_static/copybutton.js")
    ours = json.dumps({"en": words(HERE)["copy"]}, ensure_ascii=False)
    text = script.read_text("utf-8")
    theirs = re.compile(r"(?<=^const messages = )\{\n.*?^\}$", re.MULTILINE | re.DOTALL)
    if theirs.search(text):  # not yet, at the first page
        script.write_text(theirs.sub(lambda _: ours, text), "utf-8")
        script.write_text(without_comments(script), "utf-8")


def tidy_up(page: Page) -> None:
    page.body = tidy(page.body)


def draw_figures(page: Page) -> None:
    files = {name: Path(page.app.srcdir, file) for file, name in page.app.builder.images.items()}
    page.body = in_two_renderings(page.body, files, page.app.outdir)


def head_chapter(page: Page) -> None:
    """A chapter has a head, and at its foot what its reader has done, and when its notebook last ran."""
    if chapter := page.chapter:
        head = chapter_head(re.findall(r"<h1>.*?</h1>", page.body)[0], chapter, page.edition, page.root)
        goals, page.body = aside(page.body)
        page.body = re.sub(r"<h1>.*?</h1>", lambda _: head + goals, page.body, count=1)
        page.body += ending(chapter, page.edition, page.root)
        page.body += last_run(last_green(page.edition.root), f"colab/{chapter.stem}")
    if 'class="ran"' in page.body:  # book.js may know of a later date
        dates = {name: words(language.HERE)[name] for name in ("date", "months")}
        page.body += f'<script type="application/json" id="dates">{as_json(dates)}</script>'


def head_deck(page: Page) -> None:
    """A deck has a title, and scripts of its own in place of a page's."""
    if not (chapter := page.taught):
        return
    page.body = re.sub(r"<h1>.*?</h1>", lambda h1: first_slide(h1[0], chapter), page.body, count=1)
    page.context["title"] = words(HERE)["slides"]["title"].format(title=chapter.title)
    page.context["talk_words"] = as_json(words(SLIDE)["talk"])


def aside(body: str) -> tuple[str, str]:
    """What one can do after a chapter, folded, to stand before all else; and the chapter without it.

    >>> aside('<p>A</p><div class="tip admonition">\\n<p class="admonition-title">You can</p>\\n<ul></ul>\\n</div>')
    ('<details class="goals"><summary>You can</summary>\\n<ul></ul>\\n</details>', '<p>A</p>')
    """
    found = re.search(
        r'<div class="tip admonition">\s*<p class="admonition-title">(.*?)</p>(.*?)</div>', body, re.DOTALL
    )
    if not found:
        return "", body
    goals = f'<details class="goals"><summary>{found[1]}</summary>{found[2]}</details>'
    return goals, body[: found.start()] + body[found.end() :]


def raise_title(page: Page) -> None:
    """The first page's title stands on the stage, too."""
    if '<div class="hero' in page.body:
        title = r'(<h1>[^<]*)<a class="headerlink".*?</a>(</h1>)(.*?<div class="hero[^>]*>)'
        page.body = re.sub(title, r"\3\1\2", page.body, count=1, flags=re.DOTALL)


def bring_words(page: Page) -> None:
    """The texts of its widgets."""
    names = page.widgets
    page.body += page_words(kind for kind in all_widgets() if kind.name in names)


def make_stubs(page: Page) -> None:
    """What a reader is asked to write can be written and checked on the page, and mistakes can be made there."""
    if not page.chapter or not re.search(r"\btag_(stub|mistake)\b", page.body):
        return
    try:
        editors = live.editors(page.chapter.stem, page.edition.notebook(f"{page.name}.ipynb").cells)
    except live.NotForThePage as why:
        raise ExtensionError(f"{page.name}: {why}") from why
    for editor in editors:
        if editor.content:
            for file, content in ((editor.file, editor.content), editor.above):
                if content:
                    Path(page.app.outdir, "_static/write", file).write_bytes(content)
    page.body = live.mark_page(page.body, editors)
    page.app.add_js_file("write.js", type="module")


def choose_files(page: Page) -> None:
    """The scripts that the page needs, and which of them it asks for first. The style of all is in the template."""
    app, context = page.app, page.context
    if 'class="katex"' in page.body:
        app.add_js_file("katex/copy-tex.min.js", loading_method="defer")
    if style := (context.get("meta") or {}).get("style"):
        context["early"] = _own_style(Path(app.outdir, "_static", f"{style}.css"), page.root)
    if page.widgets:
        context["early"] = early_files(page.body, page.root)
        for script in ("touch.js", "widgets/shared/host.js"):  # before the frame's
            app.add_js_file(script, priority=0, type="module", fetchpriority="high")
    if page.taught:
        app.add_js_file("slide.js", type="module")
        scripts = [js for js in context["script_files"] if js.filename in OF_DECKS]
        context["script_files"], context["css_files"] = [_deferred(script) for script in scripts], []
        return
    if 'class="guess"' in page.body:
        app.add_js_file("guess.js", type="module")
    if 'class="exercise ' in page.body:
        app.add_js_file("exercise.js", type="module")
    if 'class="story"' in page.body:
        app.add_js_file("story.js", type="module")
    if 'class="find-term"' in page.body:
        app.add_js_file("glossary.js", type="module")
    if 'class="take"' in page.body:
        app.add_js_file("progress_file.js", type="module")
    left_out = UNUSED_SCRIPTS | LATER_SCRIPTS
    scripts = [js for js in context["script_files"] if js.filename and js.filename not in left_out]
    context["script_files"], context["css_files"] = [_deferred(script) for script in scripts], []


def introduce(page: Page) -> None:
    """What the template says around the text: titles, tags for those who link here, words of the frame."""
    app, context, say, here = page.app, page.context, words(HERE), page.edition.here
    context["metatags"] = re.sub(r'<meta [^>]*name="viewport"[^>]*>', "", context.get("metatags", ""))  # one is enough
    known, metadata = page.name in app.env.titles, context.get("meta") or {}
    if known and not metadata.get("description"):
        log.warning("the page needs a description, in its front matter or the notebook's metadata", location=page.name)
    description = metadata.get("description", say["description"])
    title = app.env.titles[page.name].astext() if known else context.get("title") or app.config.html_title
    book, url = app.config.html_title, f"{here.site}{page.name}.html"
    picture = here.own.site + link_preview.card_path(page.name)
    context["preview"] = link_preview.meta_tags(book, title, description, url, picture)
    if page.chapter or page.name == app.config.root_doc:
        spoken = language.marks()["language"]
        context["preview"] += link_preview.schema_org(book, here.site, description, spoken, page.chapter)
    context["report"] = report(say["report"], page, title)
    context["source"] = f"{here.repository}/edit/main/{source_of(page)}" if known else ""
    context["first_paint"] = script = first_paint()
    context["policy"] = content_security_policy(script)
    context["html_lang"] = language.marks()["language"]
    context["here"], context["site_path"], context["say"] = here, urlsplit(here.site).path, say


# How they do it


def report(say: dict[str, str], page: Page, title: str) -> str:
    """Where a problem is told, with the page and its version filled in; `book.js` adds section and browser."""
    address = page.edition.here.page(f"{page.name}.md")
    body = say["body"].format(address=address, version=page.edition.version)
    asked = urlencode({"title": say["title"].format(page=title), "body": body})
    return f"{page.edition.here.repository}/issues/new?{asked}"


def source_of(page: Page) -> str:
    """The file in the repository that says what the page says."""
    path = Path(page.app.env.doc2path(page.name)).relative_to(page.app.srcdir).as_posix()
    return page.edition.overlay(path).relative_to(page.edition.root).as_posix() if page.edition.folder else path


def tidy(body):
    """No label hides the words on the page, lists hold list items, an empty corner heads nothing, ids are used once.

    A caption's number ends with a full stop, and references to it do not.
    """
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    body = body.replace(' role="doc-biblioentry"', ' role="listitem"')
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")
    body = re.sub(r'(<div class="cell[^"]*) docutils container"', r'\1"', body)  # 60 times on a page, and in no style
    body = re.sub(r'(<span class="caption-number">[^<]*?) </span>', r"\1.</span> ", body)
    body = body.replace('<div class="exercise ', f'<div data-done="{words(EXERCISE)["done"]}" class="exercise ')
    return re.sub(r' id="(exercise|solution)-content"', "", body)


def in_two_renderings(body, images, outdir):
    """Figures, light and dark, that wait until they are seen, in places of their size; `images` are files by names.

    The one that a reader's colours hide is never asked for: a lazy image that is not displayed does not load.
    """

    def both(image):
        before, folder, name, after = image.groups()
        svg = Path(images[name]).read_text("utf-8")
        night = Path(outdir, "_images", f"dark-{name}")
        night.parent.mkdir(exist_ok=True)
        night.write_text(dark(svg), "utf-8")
        points = re.findall(r'\b(?:width|height)="([\d.]+)pt"', svg)
        width, height = (round(PIXELS * float(side)) for side in points)
        size = f'width="{width}" height="{height}" style="aspect-ratio:{"/".join(points)}"'  # the last to a hair
        tag = '<img class="{}" {}src="{}"{} {} loading="lazy" decoding="async" />'.format
        sides = (("by-day", name), ("by-night", night.name))
        return "".join(tag(kind, before, f"{folder}{file}", after, size) for kind, file in sides)

    return re.sub(r'<img ([^>]*)src="([^"]*_images/)([^"]+\.svg)"([^>]*?) ?/?>', both, body)


def _deferred(script):
    """A script that waits until the page is painted."""
    return type(script)(
        script.filename, priority=script.priority, **{"defer": "defer", "fetchpriority": "low"} | script.attributes
    )


def _own_style(file: Path, root: str) -> str:
    """The style that a page has beside the book's, as its front matter says; its content is in its address."""
    version = sha256(file.read_bytes()).hexdigest()[:8]
    return f'<link rel="stylesheet" href="{root}_static/{file.name}?v={version}">'


def early_files(body, root):
    """What a page's first widget needs to start is fetched at once, and not one after the other when it comes near."""
    name = widgets_in(body)[0]
    first = next(kind for kind in all_widgets() if kind.name == name)
    link = f'<link rel="{{}}" href="{root}_static/widgets/{{}}"{{}}>'.format
    links = [link("preload", file, ' as="fetch" crossorigin') for file in first.early_assets()]
    links += [link("modulepreload", script, "") for script in modules_of(name)]
    links += [link("preload", f"{name}/{name}.css", ' as="style"')]
    return "".join(links)
