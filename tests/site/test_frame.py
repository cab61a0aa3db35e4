"""The pure functions behind the site."""

import json
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.errors import ExtensionError

from booktools.book.address import Address
from booktools.book.labels import Entry
from booktools.directives.page import buttons
from booktools.make.site.cards import SIZE, cards, digest
from booktools.make.site.wall import WALL, wall
from booktools.site import frame as book
from booktools.site import link_preview, page
from booktools.site.frame import FRONT
from tests.sizes import is_light

HERE = Address("https://github.com/ada/book")


def box(*children, kind=nodes.admonition, classes=("dropdown",), ids=()):
    return kind("", *children, classes=list(classes), ids=list(ids))


def test_a_role_is_a_span_in_its_colour():
    (word,), messages = book.colour_role("key")("key", "{key}`keys`", "keys", 1, None)
    assert word.astext() == "keys"
    assert word["classes"] == ["attn-key"]
    assert not messages


def test_a_dropdown_takes_its_own_title():
    title, text = nodes.title("", "Hint"), nodes.paragraph("", "Look again.")
    head, body = book.split_title(box(title, text))
    assert [node.astext() for node in head] == ["Hint"]
    assert body == [text]


def test_a_dropdown_without_title_is_named_after_its_kind():
    text = nodes.paragraph("", "Look again.")
    head, body = book.split_title(box(text, kind=nodes.hint))
    assert [node.astext() for node in head] == ["Hint"]
    assert body == [text]


def test_only_boxes_of_class_dropdown_fold():
    assert book.is_dropdown(box(kind=nodes.note))
    assert not book.is_dropdown(box(kind=nodes.note, classes=()))
    assert not book.is_dropdown(box(kind=nodes.paragraph))


def test_a_link_to_a_dropdown_still_arrives():
    assert book.html_id(box(ids=["ch05-hint"])) == ' id="ch05-hint"'
    assert book.html_id(box()) == ""


def test_sphinx_takes_the_numbers_of_the_book():
    entries = [Entry("exercise", "a", number="5.1"), Entry("heading"), Entry("exercise", "b", number="5.2")]
    env = numbering({"exercise": {"a": (1,), "b": (2,)}, "table": {"c": (3,)}}, entries)
    assert env.toc_fignumbers["chapters/05_dots"] == {"exercise": {"a": (5, 1), "b": (5, 2)}, "table": {"c": (1,)}}


def test_a_count_that_is_not_the_books_is_an_error():
    with pytest.raises(ExtensionError, match=r"05_dots\.ipynb: Sphinx counts 1 of the kind figure, the book 0"):
        numbering({"figure": {"a": (1,)}}, [])


def numbering(kinds, entries):
    """What Sphinx has counted in a chapter, after the book has told its numbers."""
    page = "chapters/05_dots.ipynb"
    told = SimpleNamespace(entries={page: entries})
    env = SimpleNamespace(toc_fignumbers={"chapters/05_dots": kinds}, doc2path=lambda _: f"/book/{page}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "edition_of", lambda _: told)
        book.number_as_the_edition(SimpleNamespace(srcdir="/book"), env)
    return env


def test_buttons_lead_to_colab_and_to_the_sites_own_copy():
    say = {"open": "Open", "download": "Download"}
    row = buttons(HERE, "05_dots", "../", "colab", say)
    assert f'href="{HERE.colab("05_dots")}"' in row
    assert 'href="../colab/05_dots.ipynb" download' in row
    graded = buttons(HERE, "05_dots", "../", "assignments", say)
    assert f'href="{HERE.colab("05_dots", "assignments")}"' in graded
    assert 'href="../assignments/05_dots.ipynb" download' in graded


def test_a_preview_is_safe_html():
    tags = link_preview.meta_tags(
        "A Book", 'Keys & "values"', "a < b", f"{HERE.site}notation.html", f"{HERE.site}a.png"
    )
    assert 'property="og:title" content="Keys &amp; &quot;values&quot;"' in tags
    assert 'name="description" content="a &lt; b"' in tags


def test_what_search_engines_are_told_is_safe_html():
    told = link_preview.schema_org("A Book", HERE.site, "</script>", "en", None)
    assert told.count("</script>") == 1
    assert json.loads(told.removeprefix('<script type="application/ld+json">')[:-9])["description"] == "</script>"


@pytest.mark.parametrize(("name", "html"), cards().items(), ids=lambda each: each[:12])
def test_a_card_shows_what_the_book_says(name, html):
    """After a change of a title or a picture: python -m booktools.make.site.cards."""
    picture = Image.open(link_preview.CARDS / f"{name}.png")
    assert picture.size == tuple(SIZE.values())
    assert picture.info["made-of"] == digest(html)
    is_light("the card of a link", {name: (link_preview.CARDS / f"{name}.png").stat().st_size})


def test_a_page_without_a_card_shows_the_books():
    assert (
        link_preview.card_path("chapters/15_fifteen") == link_preview.card_path("glossary") == "_static/cards/book.png"
    )
    assert link_preview.card_path("map") == "_static/cards/map.png"


def test_the_heads_on_the_first_page_are_those_that_are_stored():
    assert Image.open(WALL).convert("RGBA").tobytes() == wall().convert("RGBA").tobytes()
    size = "{} / {}".format(*wall().size)
    assert f"aspect-ratio: {size};" in (FRONT / "static/text.css").read_text("utf-8")


def test_labels_do_not_hide_the_words_on_a_summary():
    body = '<summary aria-label="Toggle hidden content"><span>Show code</span></summary>'
    assert page.tidy(body) == "<summary><span>Show code</span></summary>"


def test_no_two_exercises_share_an_id():
    assert page.tidy('<section id="exercise-content"><p id="a">') == '<section><p id="a">'


def test_a_figure_has_two_renderings_keeps_its_place_and_waits(tmp_path):
    file = tmp_path / "stored.svg"
    file.write_text('<svg width="100pt" height="40.2pt"><path style="stroke: #fffdfa"/></svg>')
    tag = '<img alt="a &gt; b" src="../_images/f.svg" />'
    day, night = re.findall("<img.*?>", page.in_two_renderings(f"<p>{tag}</p>", {"f.svg": file}, tmp_path))
    size = 'width="155" height="62" style="aspect-ratio:100/40.2" loading="lazy" decoding="async"'
    assert day == f'<img class="by-day" alt="a &gt; b" src="../_images/f.svg" {size} />'
    assert night == f'<img class="by-night" alt="a &gt; b" src="../_images/dark-f.svg" {size} />'
    assert "stroke: #121018" in (tmp_path / "_images/dark-f.svg").read_text()
    assert page.in_two_renderings('<img src="../_static/a.svg">', {}, tmp_path) == '<img src="../_static/a.svg">'


def test_a_captions_number_ends_with_a_full_stop():
    caption = '<span class="caption-number">Figure 5.2 </span><span class="caption-text">Bars.</span>'
    assert page.tidy(caption) == caption.replace("5.2 </span>", "5.2.</span> ")


def test_a_share_keeps_its_percent_sign_on_its_line():
    share, code = nodes.paragraph("", "29 % of all, 4 of 7"), nodes.literal("", "29 % 7")
    book.keep_shares_whole(None, nodes.container("", share, nodes.paragraph("", "", code)))
    assert share.astext() == "29\N{NO-BREAK SPACE}% of all, 4 of 7"
    assert code.astext() == "29 % 7"


@pytest.mark.parametrize(("font", "stand_in"), [("serif", "As Georgia"), ("serif", "As Times"), ("sans", "As Arial")])
def test_a_stand_in_is_as_high_as_the_font_it_stands_for(font, stand_in):
    style = (FRONT / "static/frame.css").read_text("utf-8")
    (rule,) = re.findall(rf'font-family: "{stand_in}";\n  src: .*?}}', style, re.DOTALL)
    size, ascent, descent = (
        float(re.search(rf"{name}: ([\d.]+)%", rule)[1]) / 100
        for name in ("size-adjust", "ascent-override", "descent-override")
    )
    real = TTFont(FRONT / f"static/fonts/{font}.woff2")
    em = real["head"].unitsPerEm
    assert abs(size * ascent - real["hhea"].ascent / em) < 0.001
    assert abs(size * descent + real["hhea"].descent / em) < 0.001
