"""Labels of stored figures in another language: read back from their outlines, and set at the same place."""

import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest

from attnbook import plots
from attnbook.plots.renderings import dark, light
from booktools.book.figure_labels import labels, read_table, relabel

TABLE = {"step": "步", "share of the learning rate": "占学习率的比例", "width #": "核宽 #", "Anna": "安娜"}


@pytest.fixture
def figure():
    axes = plots.axes(height=1.7)
    axes.plot([0, 1, 0])
    axes.set(xlabel="step", ylabel="share of the learning rate")
    axes.set_title("width 0.25", loc="left")
    axes.set_yticks([0.5], ["Anna"])
    return light(axes.figure)


def text(svg, said):
    """How a label is set: its place, where it is held, its size."""
    (found,) = re.findall(rf"<text ([^>]*)>{said}</text>", svg)
    about = dict(re.findall(r'([\w-]+)="([^"]*)"', found))
    x, y = map(float, re.findall(r"-?[\d.]+", about["transform"])[:2])
    return x + float(about["x"]), y, about["text-anchor"], float(about["font-size"])


def test_labels_are_read_back(figure):
    assert set(labels(figure)) == {"step", "share of the learning rate", "width 0.25", "Anna"}


def test_signs_of_the_other_font_are_read_back():
    axes = plots.axes()
    axes.set(xlabel="★ right, of √64")
    assert "★ right, of √64" in labels(light(axes.figure))


def test_they_are_exchanged_and_those_without_a_name_stay(figure):
    assert labels(relabel(figure, {"step": "步"})) == [each for each in labels(figure) if each != "step"]
    assert relabel(figure, {"no such": "无"}) == figure


def test_each_is_held_where_it_was(figure):
    made = relabel(figure, TABLE)
    axes = [float(x) for x in re.search(r'id="patch_2"><path d="M([\d.]+) [\d.]+L([\d.]+)', figure).groups()]
    x, _, held, size = text(made, "步")
    assert (held, size) == ("middle", 10)
    assert x == pytest.approx(sum(axes) / 2, abs=0.5)
    x, _, held, _ = text(made, "安娜")
    assert held == "end"
    assert axes[0] - 6 < x < axes[0]
    assert text(made, "核宽 0.25")[2] == "start"
    moved = ElementTree.fromstring(made).iterfind(".//*[@transform]")
    assert not any(group.find("{*}text") is not None for group in moved), "moved or made smaller once more"


@pytest.fixture
def titled():
    """A figure with a title of two lines, and one of a line beside an empty one."""
    panels = plots.axes(2, height=1.7)
    panels[0].set_title("all but the\nfirst")
    panels[1].set_title("all\n")
    return light(panels[0].figure)


def test_a_label_of_two_lines_is_one(titled):
    assert set(labels(titled)) == {"all but the first", "all"}
    assert labels(relabel(titled, {"all": "全部"})) == ["all but the first"]


def test_fewer_lines_take_the_last_ones_places(titled):
    made = relabel(titled, {"all but the first": "第一个\n以外", "all": "全部"})
    (_, first, *_), (_, second, held, _), (_, beside, *_) = (text(made, each) for each in ("第一个", "以外", "全部"))
    assert first < second == pytest.approx(beside)
    assert held == "start"


def test_more_lines_than_are_drawn_are_refused(titled):
    with pytest.raises(ValueError, match="'all but the first' is drawn in 2 lines"):
        relabel(titled, {"all but the first": "除\n第一个\n以外"})


def test_a_page_may_call_a_label_something_else(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_LANGUAGE", "zh")
    (tmp_path / "translations/zh").mkdir(parents=True)
    (tmp_path / "translations/zh/figures.toml").write_text(
        'first = "第一位"\nstep = "步"\n["a.ipynb"]\nfirst = "第一个"\n', "utf-8"
    )
    assert read_table(tmp_path, "a.ipynb") == {"first": "第一个", "step": "步"}
    assert read_table(tmp_path, "b.ipynb") == {"first": "第一位", "step": "步"}


def test_a_list_with_indents_keeps_them():
    """Marks beside rows that begin at one place go on beginning there, whatever they are called."""
    axes = plots.axes()
    axes.set_yticks([0, 1], ["the sum", "  and a gate"], ha="left")
    axes.tick_params(axis="y", pad=90)
    made = relabel(light(axes.figure), {"the sum": "和", "  and a gate": "\u3000加上门"})
    (x, _, held, _), (begins, *_) = text(made, "和"), text(made, "\u3000加上门")
    assert (held, x) == ("start", begins)


def test_nothing_is_cut_off(figure):
    """The label above an axis stood at the very top, and a Chinese sign is higher than a Latin letter."""
    made = relabel(figure, TABLE)
    top = float(re.search(r'viewBox="[-\d.]+ ([-\d.]+)', made)[1])
    _, y, _, size = text(made, "占学习率的比例")
    assert y - 0.9 * size >= top
    wide = relabel(figure, {"step": "步" * 80})
    left, _, width, _ = map(float, re.search(r'viewBox="([^"]*)"', wide)[1].split())
    assert left < 0
    assert width >= 800
    assert re.search(rf'width="{width:g}pt"', wide)


def test_the_dark_one_is_made_of_it_as_ever(figure):
    made = dark(relabel(figure, TABLE))
    assert "占学习率的比例" in made
    assert made.count("<text") == len(TABLE)


def test_a_letter_that_a_later_label_needs_is_kept():
    """Each glyph is defined where it is used first."""
    _, axes = plt.subplots()
    axes.set(xlabel="step", title="steps")
    made = relabel(light(axes.figure), {"step": "步"})
    wanted = set(re.findall(r'href="#(BookSans[^"]*)"', made))
    assert wanted
    assert wanted <= set(re.findall(r'<path id="(BookSans[^"]*)"', made))
