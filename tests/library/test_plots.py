import matplotlib as mpl
import pytest
import torch
from matplotlib.colors import to_hex

from attnbook import plots

mpl.use("agg")


def test_a_heat_map_shows_its_weights_on_a_scale_from_0_to_1():
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]])
    ax = plots.heatmap(weights, ["a", "b"], ["x", "y", "z"], title="T")
    image = ax.images[0]
    assert torch.equal(torch.tensor(image.get_array().data), weights)
    assert image.get_clim() == (0, 1)
    assert [text.get_text() for text in ax.texts] == ["0.25", "0.75", "0.00", "0.10", "0.20", "0.70"]
    assert [text.get_color() for text in ax.texts] == ["black", "white", "black", "black", "black", "white"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["x", "y", "z"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("keys", "queries", "T")


def test_names_must_fit():
    with pytest.raises(ValueError, match=r"weights of shape \(2, 3\) need as many names: 3 × 2 came"):
        plots.heatmap(torch.zeros(2, 3), ["a", "b", "c"], ["x", "y"])


def test_figures_are_transparent_and_leave_the_readers_style_alone():
    before = dict(mpl.rcParams)
    ax = plots.axes()
    assert ax.figure.get_facecolor()[3] == 0
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


@pytest.mark.parametrize("kind", ["plot", "bar", "scatter", "fill_between"])
def test_whatever_is_drawn_its_text_tells_two_drawings_apart(kind):
    def text(numbers):
        ax = plots.axes()
        getattr(ax, kind)(range(len(numbers)), numbers)
        plots.plt.close(ax.figure)
        return repr(ax.figure)

    assert text([1, 2, 7, 4]) == text([1, 2, 7, 4])
    assert len({text([1, 2, 7, 4]), text([7, 2, 1, 4]), text([1, 2, 8, 4]), text([1, 2, 7, 4, 4])}) == 4


def test_beyond_twelve_keys_a_heat_map_has_colours_alone():
    for M, numbers in ((12, 24), (13, 0)):
        ax = plots.heatmap(torch.eye(2, M), ["a", "b"], [f"{j}" for j in range(M)])
        assert len(ax.texts) == numbers
        assert [label.get_text() for label in ax.get_xticklabels()] == [f"{j}" for j in range(M)]
