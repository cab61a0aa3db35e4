import re
from itertools import pairwise

import matplotlib as mpl
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib.colors import to_hex, to_rgb

from attnbook import plots
from attnbook.colours import DARK, LIGHT
from attnbook.plots.renderings import DARK_OF, colours, dark, light, number_colour, weight_colours

mpl.use("agg")


def test_a_heat_map_shows_its_weights_on_a_scale_from_0_to_1():
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    ax = plots.heatmap(weights, ["a", "b"], ["x", "y", "z"], title="T")
    (cells,) = ax.collections
    assert torch.equal(torch.tensor(cells.get_array().data), weights)
    assert cells.get_clim() == (0, 1)
    assert [text.get_text() for text in ax.texts] == ["0.25", "0.75", "0.00", "0.10", "0.20", "0.70"]
    assert [text.get_color() for text in ax.texts] == [number_colour(w) for w in weights.flatten().tolist()]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["x", "y", "z"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("keys", "queries", "T")


def test_names_must_fit():
    with pytest.raises(ValueError, match=r"\(L, M\) = \(3, 2\), got \(2, 3\)"):
        plots.heatmap(torch.zeros(2, 3), ["a", "b", "c"], ["x", "y"])


def test_figures_lie_on_paper_and_leave_the_readers_style_alone():
    before = dict(mpl.rcParams)
    ax = plots.axes()
    assert to_hex(ax.figure.get_facecolor()) == LIGHT["ab-paper"]
    light(ax.figure)
    assert dict(mpl.rcParams) == before
    assert len(plots.axes(3)) == 3


def test_the_scale_runs_from_light_to_dark_in_even_steps():
    light = (plots.WEIGHTS(torch.linspace(0, 1, 11).numpy())[:, :3] @ [0.2126, 0.7152, 0.0722]).tolist()
    assert light == sorted(light, reverse=True)
    assert light[0] > 0.9
    assert light[-1] < 0.2
    assert {to_hex(c) for c in (plots.QUERY, plots.KEY, plots.VALUE)} == {plots.QUERY, plots.KEY, plots.VALUE}


def test_a_figures_text_tells_its_data():
    left, right = plots.axes(2)
    left.plot([1, 2, 3], [1.0, 20.0, 3.0], label="up and down")
    plots.heatmap(torch.tensor([[0.25, 0.75]]), ["a"], ["x", "y"], ax=right)
    line, cells = "up and down 1 to 3, mean 8, later 8.3, of 3", "cells 0.25 to 0.75, mean 0.5, later 0.58, of 2"
    assert repr(left.figure) == f"<Figure: {line}; {cells}>"


def test_axes_at_the_end_of_a_cell_show_nothing_beside_their_figure():
    assert DisplayFormatter().format(plots.axes()) == ({}, {})


@pytest.mark.parametrize("kind", ["plot", "bar", "barh", "scatter", "fill_between"])
def test_whatever_is_drawn_its_text_tells_two_drawings_apart(kind):
    def text(numbers):
        ax = plots.axes()
        getattr(ax, kind)(range(len(numbers)), numbers)
        return repr(ax.figure)

    assert text([1, 2, 7, 4]) == text([1, 2, 7, 4])
    assert len({text([1, 2, 7, 4]), text([7, 2, 1, 4]), text([1, 2, 8, 4]), text([1, 2, 7, 4, 4])}) == 4


def test_beyond_twelve_keys_a_heat_map_has_colours_alone():
    for M, numbers in ((12, 24), (13, 0)):
        ax = plots.heatmap(torch.eye(2, M), ["a", "b"], [f"{j}" for j in range(M)])
        assert len(ax.texts) == numbers
        assert [label.get_text() for label in ax.get_xticklabels()] == [f"{j}" for j in range(M)]


# Two renderings


def drawn():
    left, right = plots.axes(2)
    for name in ("one", "two"):
        left.semilogx([1, 10, 100], [0.1, 0.5, 0.5], label=name)
    left.set(title="T", xlabel="x", ylabel="y")
    plots.label(left)
    plots.heatmap(torch.tensor([[0.25, 0.6, 0.9]]), ["a"], ["√", "→", "z"], ax=right)
    return left.figure


@pytest.mark.slow
def test_a_figure_is_the_same_every_time():
    svg = light(drawn())
    assert svg == light(drawn())
    assert not re.search(r"20\d\d-|[Mm]atplotlib v|<metadata|<!|<text|<image", svg)


def test_the_dark_figure_is_the_light_one_in_other_colours():
    svg = light(drawn())
    night = dark(svg)
    assert {LIGHT["ab-paper"], LIGHT["ab-ink"], LIGHT["ab-accent"], LIGHT["attn-key"]} <= colours(svg)
    assert {DARK["ab-paper"], DARK["ab-ink"], DARK["ab-accent"], DARK["attn-key"]} <= colours(night)
    assert re.sub("#[0-9a-f]{6}", "", svg) == re.sub("#[0-9a-f]{6}", "", night)
    assert len(colours(svg)) == len(colours(night))


@pytest.mark.parametrize("colour", ["red", "0.5", "C0"])
def test_a_colour_of_no_palette_is_noticed(colour):
    ax = plots.axes()
    ax.plot([1, 2], color=colour)
    with pytest.raises(ValueError, match=f"^{to_hex(colour)}: a figure has colours that are in no palette"):
        dark(light(ax.figure))


def test_what_is_black_is_ink():
    """SVG's own black has no colour that could be exchanged."""
    ax = plots.axes()
    ax.text(0.5, 0.5, "black", color="black")
    assert light(ax.figure).startswith(f'<svg fill="{LIGHT["ab-ink"]}"')


def test_each_colour_has_its_counterpart():
    for name in ("attn-query", "attn-key", "attn-value", "ab-ink", "ab-soft", "ab-rule", "ab-paper", "ab-accent"):
        assert DARK_OF[LIGHT[name]] == DARK[name]
    for day, night in zip(weight_colours(LIGHT).colors, weight_colours(DARK).colors, strict=True):
        assert to_rgb(DARK_OF[to_hex(day)]) == pytest.approx(night, abs=0.01)  # neighbours may share a colour


@pytest.mark.parametrize("night", [False, True], ids=["light", "dark"])
def test_numbers_on_cells_can_be_read(night):
    for w in torch.linspace(0, 1, 101).tolist():
        pair = [to_hex(plots.WEIGHTS(w)), number_colour(w)]
        first, second = sorted(luminance(DARK_OF[colour] if night else colour) for colour in pair)
        assert (second + 0.05) / (first + 0.05) >= 4.5, w


def luminance(colour):
    parts = torch.tensor(mpl.colors.to_rgb(colour), dtype=torch.float64)
    linear = torch.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ torch.tensor([0.2126, 0.7152, 0.0722], dtype=torch.float64))


# What it draws


def test_lines_have_their_names_at_their_ends_apart_and_in_their_colours():
    ax = plots.axes()
    for name in ("one", "two", "three"):
        ax.plot([0, 1], [0, 1], label=name)
    ax.plot([0, 1], [1, 0])
    plots.label(ax)
    light(ax.figure)
    assert [text.get_text() for text in ax.texts] == ["one", "two", "three"]
    assert [text.get_color() for text in ax.texts] == [line.get_color() for line in ax.lines[:3]]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))


def test_many_dots_are_one_path():
    ax = plots.axes()
    plots.dots(torch.arange(500), torch.arange(500) ** 2, ax, label="squares")
    svg = light(ax.figure)
    assert len(re.findall(r"M[\d.]+ [\d.]+h0", svg)) == 500
    assert repr(ax.figure) == "<Figure: squares 0 to 2.5e+05, mean 8.3e+04, later 1.2e+05, of 500>"


def test_neighbours_of_one_colour_are_one_rectangle_unless_there_is_a_gap():
    numbers = torch.tensor([[-1.0, -1, -1, 1], [1, 1, 1, 1]])
    ax = plots.cells(numbers, low=-1)
    assert rectangles(light(ax.figure)) == {plots.PAPER: 1, plots.INK: 2}
    plots.cells(numbers, ax := plots.axes(), low=-1, gap=1)
    assert rectangles(light(ax.figure)) == {plots.PAPER: 3, plots.INK: 5}
    assert repr(ax.figure) == "<Figure: cells -1 to 1, mean 0.25, later 0.67, of 8>"


def rectangles(svg):
    (group,) = re.findall(r'<g (?:shape-rendering="crispEdges"|id="apart\w*")>(.*?)</g>', svg, re.DOTALL)
    paths = re.findall(r'd="([^"]*)"[^>]*style="fill: (#\w{6})', group)
    return {colour: path.count("M") for path, colour in paths}


def test_lists_arrays_tensors_and_one_row_are_the_same_picture():
    weights = torch.tensor([[0.25, 0.75]])
    whole = plots.heatmap(weights, ["a"], ["x", "y"]).figure
    for other in (weights.numpy(), weights.tolist(), weights[0]):
        assert repr(plots.heatmap(other, "a", "x y").figure) == repr(whole)


def test_names_that_would_touch_are_turned():
    weights = torch.eye(2, 3)
    turned = [
        plots.heatmap(weights, "a b", keys).get_xticklabels()[0].get_rotation()
        for keys in ("x y z", "understanding nobody remembers")
    ]
    assert turned == [0, 90]


def test_bars_lie_in_their_order_and_leave_room_for_their_numbers():
    ax = plots.bars({"plain": 4.0, "in tiles": 0.5}, title="kept")
    figure = ax.figure
    figure.draw_without_rendering()
    first, second = (bar.get_window_extent() for bar in ax.patches)
    assert first.y0 > second.y1
    assert first.width == pytest.approx(8 * second.width)
    assert [number.get_text() for number in ax.texts] == ["4.00", "0.50"]
    assert all(number.get_window_extent().x1 < ax.bbox.x1 for number in ax.texts)
    assert [name.get_text() for name in ax.get_yticklabels()] == ["plain", "in tiles"]
    assert not ax.get_xticks().size
    assert ax.get_title() == "kept"
