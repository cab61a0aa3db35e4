"""What the site adds to Sphinx: its own page frame, widgets, dropdowns, and no request to another host."""

import json
import os
import re
from gettext import NullTranslations
from html import escape
from pathlib import Path
from shutil import rmtree
from urllib.parse import urlsplit

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.locale import admonitionlabels, translators
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from attnbook import language
from attnbook.language import words
from attnbook.plots.renderings import dark
from attnbook.widgets import all_widgets
from attnbook.widgets.shared.base import page_words
from attnbook.widgets.shared.files import modules_of, page_files
from booktools.book import HERE as BOOK
from booktools.book.address import address
from booktools.book.checked import fold_on_page
from booktools.book.contents import edition_language, last_green
from booktools.directives import front
from booktools.directives.page import edition_of, raw
from booktools.site.heads import chapter_head, last_run
from booktools.site.style import join_styles

HERE = Path(__file__).parent
FRONT = HERE / "front"
ROLES = ("query", "key", "value")
PIXELS = 1.55  # of a page to a point of a figure: its letters are a little smaller than the text's
UNUSED_SCRIPTS = {"_static/scripts/sphinx-book-theme.js"}

log = logging.getLogger(__name__)


def coloured(name):
    """The role `name`: a word in the colour of queries, keys or values."""

    def role(_role, rawtext, text, _lineno, _inliner, options=None, content=None):
        return [nodes.inline(rawtext, text, classes=[f"attn-{name}"])], []

    return role


class Dropdowns(SphinxPostTransform):
    """A box of class `dropdown` becomes <details>: it opens without a script, by search in the page, and on paper."""

    default_priority = 400  # after exercises have got their numbers and titles
    formats = ("html",)

    def run(self):
        for box in list(self.document.findall(is_dropdown)):
            title, body = split_title(box)
            opening = f'<details class="admonition {" ".join(box["classes"])}"{html_id(box)}><summary>'  # pyright: ignore[reportIndexIssue] (an element)
            place = box.parent.index(box)
            box.parent[place : place + 1] = [raw(opening), *title, raw("</summary>"), *body, raw("</details>")]


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


def configure(app, config):
    here = address(app.srcdir)
    config.language = os.environ["ATTNBOOK_LANGUAGE"] = edition_language(app.srcdir)
    say, core = words(HERE), words(BOOK)
    config.templates_path = [str(FRONT / "templates"), *config.templates_path]
    config.html_static_path = [str(FRONT / "static"), *config.html_static_path]
    config.html_favicon = str(FRONT / "static/favicon.svg")
    config.html_title = say["title"]
    config.html_baseurl = here.site
    config.myst_substitutions |= {"site": f"<{here.site}>", "source": f"[{core['source']}]({here.repository})"}
    config.nb_code_prompt_show, config.nb_code_prompt_hide = say["code"]["show"], say["code"]["hide"]
    config.numfig_format |= {kind: core["numbered"][kind].format(n="%s") for kind in ("exercise", "figure")}
    admonitionlabels.update(core["boxes"])
    app.translator = translators["general", "sphinx"] = Texts(say["sphinx"])
    translators["general", "exercise"] = Texts({"Exercise": core["exercise"], "Solution": say["solution"]})


def read_edition(app, docname, source):
    """Sphinx reads what the edition says; checks and our solutions are folded."""
    page = Path(app.env.doc2path(docname)).relative_to(app.srcdir).as_posix()
    source[0] = edition_of(app.env).source(page)
    if page.endswith(".ipynb"):
        source[0] = fold_on_page(source[0])


def name_parts(app, doctree):
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


def copy_files(app):
    """What widgets and rooms bring, before a page is written: Sphinx adds a checksum to its address."""
    if app.builder.format != "html":
        return
    for name, content in ({f"widgets/{name}": content for name, content in page_files().items()} | front()).items():
        target = Path(app.outdir, "_static", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def drop_unused_files(app, _exception):
    """The frame, icons and translations of the theme, which no page asks for: 8 MB."""
    for name in ("images", "locales", "scripts", "styles", "vendor"):
        rmtree(Path(app.outdir, "_static", name), ignore_errors=True)
    for macros in Path(app.outdir, "_static").glob("*webpack-macros.html"):
        macros.unlink()


def style(app, exception):
    if not exception and app.builder.format == "html":
        join_styles(Path(app.outdir))


def widgets_on(body):
    """The names of the widgets in a page, each once.

    >>> widgets_on('<div data-afm="scale_lab"></div><div data-afm="scale_lab"></div>')
    ['scale_lab']
    """
    return sorted(set(re.findall(r'data-afm="(\w+)"', body)))


def preview(book, title, description, here, url):
    """The <meta> tags that search engines and links in messages show."""
    properties = {
        "og:type": "article",
        "og:site_name": book,
        "og:title": title,
        "og:description": description,
        "og:url": url,
        "og:image": f"{here.site}_static/card.png",
        "og:image:alt": words(HERE)["preview"],
    }
    tags = [f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()]
    tags += [f'<meta name="description" content="{escape(description)}">']
    tags += ['<meta name="twitter:card" content="summary_large_image">']
    return "\n".join(tags)


def tidy(body):
    """No label hides the words on the page, lists hold list items, an empty corner heads nothing, ids are used once.

    A caption's number ends with a full stop, and references to it do not.
    """
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    body = body.replace(' role="doc-biblioentry"', ' role="listitem"')
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")
    body = re.sub(r'(<span class="caption-number">[^<]*?) </span>', r"\1.</span> ", body)
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
        tag = '<img class="{}" {}src="{}"{} width="{}" height="{}" loading="lazy" decoding="async" />'.format
        width, height = (
            round(PIXELS * float(points)) for points in re.findall(r'\b(?:width|height)="([\d.]+)pt"', svg)
        )
        sides = (("by-day", name), ("by-night", night.name))
        return "".join(tag(kind, before, f"{folder}{file}", after, width, height) for kind, file in sides)

    return re.sub(r'<img ([^>]*)src="([^"]*_images/)([^"]+\.svg)"([^>]*?) ?/?>', both, body)


def name_copy_buttons(outdir):
    """The buttons that copy code have texts in a script of their own, English where it doesn't know the language."""
    script = Path(outdir, "_static/copybutton.js")
    ours = json.dumps({"en": words(HERE)["copy"]}, ensure_ascii=False)
    renamed = re.sub(
        r"(?<=^const messages = )\{\n.*?^\}$", lambda _: ours, script.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    script.write_text(renamed, "utf-8")


def deferred(script):
    """A script that waits until the page is painted."""
    return type(script)(
        script.filename, priority=script.priority, **{"defer": "defer", "fetchpriority": "low"} | script.attributes
    )


def early_files(body, root):
    """What a page's first widget needs to start is fetched at once, and not one after the other when it comes near."""
    name = re.findall(r'data-afm="(\w+)"', body)[0]
    first = next(kind for kind in all_widgets() if kind.name == name)
    link = f'<link rel="{{}}" href="{root}_static/widgets/{{}}"{{}}>'.format
    links = [link("preload", file, ' as="fetch" crossorigin') for file in first.early_assets()]
    links += [link("modulepreload", script, "") for script in modules_of(name)]
    links += [link("preload", f"{name}/{name}.css", ' as="style"')]
    return "".join(links)


def as_json(content):
    """JSON that can stand in a page."""
    return json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")


def page(app, pagename, templatename, context, doctree):
    """Everything that depends on the page: its widgets, its buttons, its description."""
    edition, say, body = edition_of(app.env), words(HERE), context.get("body", "")
    here = edition.here
    name_copy_buttons(app.outdir)
    root = context["pathto"]("", 1).removesuffix("#")
    if 'class="katex"' in body:
        app.add_js_file("katex/copy-tex.min.js", loading_method="defer")
    names = widgets_on(body)
    if names:
        context["early"] = early_files(body, root)
        for script in ("touch.js", "widgets/shared/host.js"):  # before the frame's
            app.add_js_file(script, priority=0, type="module", fetchpriority="high")
    if 'class="guess"' in body:
        app.add_js_file("guess.js", type="module")
    scripts = [js for js in context["script_files"] if js.filename and js.filename not in UNUSED_SCRIPTS]
    if pagename != "search":  # whose own script calls the others at once
        scripts = [deferred(script) for script in scripts]
    context["script_files"], context["css_files"] = scripts, []

    context["metatags"] = re.sub(r'<meta [^>]*name="viewport"[^>]*>', "", context.get("metatags", ""))  # one is enough
    files = {name: Path(app.srcdir, file) for file, name in app.builder.images.items()}
    body = in_two_renderings(tidy(body), files, app.outdir)
    chapter = next((each for each in edition.chapters if pagename == f"chapters/{each.stem}"), None)
    if chapter:
        body = re.sub(r"<h1>.*?</h1>", lambda h1: chapter_head(h1[0], chapter, edition, root), body, count=1)
        body += last_run(last_green(Path(app.srcdir)), f"colab/{chapter.stem}")
    if 'class="ran"' in body:  # book.js may know of a later date
        dates = {name: words(language.HERE)[name] for name in ("date", "months")}
        body += f'<script type="application/json" id="dates">{as_json(dates)}</script>'
    if '<div class="hero' in body:  # the first page's title stands on the stage, too
        body = re.sub(
            r'(<h1>[^<]*)<a class="headerlink".*?</a>(</h1>)(.*?<div class="hero[^>]*>)',
            r"\3\1\2",
            body,
            count=1,
            flags=re.DOTALL,
        )
    context["body"] = body + page_words(kind for kind in all_widgets() if kind.name in names)

    metadata = context.get("meta") or {}
    if doctree and not metadata.get("description"):
        log.warning("the page needs a description, in its front matter or the notebook's metadata", location=pagename)
    description = metadata.get("description", say["description"])
    title = app.env.titles[pagename].astext() if doctree else context.get("title") or app.config.html_title
    context["preview"] = preview(app.config.html_title, title, description, here, f"{here.site}{pagename}.html")
    context["here"], context["site_path"] = here, urlsplit(here.site).path
    context["say"] = say
    catalogue = {"messages": say["sphinx"], "plural_expr": "n != 1", "locale": app.config.language}
    context["catalogue"] = as_json(catalogue)


def setup(app):
    for name in ROLES:
        app.add_role(name, coloured(name))
    app.add_post_transform(Dropdowns)
    app.connect("config-inited", configure)
    app.connect("builder-inited", copy_files)
    app.connect("source-read", read_edition)
    app.connect("doctree-read", name_parts, priority=400)  # before Sphinx notes what the contents are
    app.connect("doctree-read", keep_shares_whole)
    app.connect("env-check-consistency", number_as_the_edition)
    app.connect("build-finished", drop_unused_files)
    app.connect("build-finished", style, priority=900)  # after the theme has written its colours of code
    app.connect("html-page-context", page, priority=900)  # after the theme has put its files on the page
