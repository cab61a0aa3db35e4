"""Stories: a picture shows what is computed, stays in sight, and changes at every step; still, it is complete."""

import json
import re

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect
from torch.testing import assert_close

from attnbook import attention
from attnbook.layers.masks import causal
from booktools.directives.story import drawings
from tests.browser.pages import PHONE

PAGES = {
    "one-pass": "10_fast_attention",
    "one-update": "01_word_vectors",
    "formula": "05_scaled_dot_product_attention",
    "three-steps": "07_self_attention",
    "three-masks": "09_the_transformer",
}
# Of a picture: what is not transparent, how pale it is, and where it lies.
SEEN = """(story) => {
    const top = story.querySelector("svg").getBoundingClientRect().top;
    const pale = (part) => getComputedStyle(part.closest("g") ?? part).opacity;
    const parts = [...story.querySelectorAll("svg :is(rect, text, path)")].filter((part) => pale(part) !== "0");
    return parts.map((part) => {
        const { x, y, height } = part.getBoundingClientRect();
        return [part.textContent, pale(part), ...[x, y - top, height].map(Math.round)].join(" ");
    }).join("; ");
}"""
PICTURE = """(story) => {
    const { top, bottom } = story.querySelector("svg").getBoundingClientRect();
    return [top, bottom];
}"""
READ = """(n) => {
    const item = document.querySelectorAll(".story .steps > li")[n];
    scrollTo({ top: item.getBoundingClientRect().top + scrollY - innerHeight / 2, behavior: "instant" });
}"""
FREEZE = ".story g { transition: none !important }"


def numbers(svg: str, part: str) -> torch.Tensor:
    """Of the group with this class, in their order."""
    (inside,) = re.findall(rf'<g class="{part}">(.*?)</g>', svg)
    return torch.tensor([float(said) for said in re.findall(r">(-?[\d.]+)</text>", inside)])


def test_the_formula_is_what_pytorch_makes_of_its_numbers():
    svg = drawings.formula()
    values = torch.tensor([[5.0, 5.0], [10.0, 0.0], [0.0, 10.0]])
    queries = torch.tensor([[2.0, 0, 1, 1], [0, 0, 0, 2], [0, 2, 0, 0]])
    keys = torch.tensor([[0.5, 0, 1, 0], [1, 0, 1, 1], [0, 1, 0, 0]])
    output, weights = attention(queries, keys, values)
    drawn = {"until-1": queries @ keys.T, "from-2 until-2": queries @ keys.T / 2, "from-3": weights}
    for part, want in drawn.items():
        assert_close(numbers(svg, part), want.flatten(), rtol=0, atol=0.0051)
    assert_close(numbers(svg, "from-4"), torch.cat([values.flatten(), output.flatten()]), rtol=0, atol=0.0051)


def test_one_update_is_the_gradient_step_of_the_chapter():
    svg, w_D = drawings.one_update(), torch.tensor([1.0, 1.0], requires_grad=True)
    c_CD = torch.tensor([[1.5, 0.5], [-1, 0], [-0.5, 0.5]])
    scores_C = c_CD @ w_D
    (-F.logsigmoid(scores_C * torch.tensor([1.0, -1, -1])).sum()).backward()
    for part, want in (("until-3", scores_C), ("from-4", c_CD @ (w_D - w_D.grad))):
        ((*found,),) = [group for group in _groups(svg.replace("−", "-"), part) if group]
        assert_close(torch.tensor(found), torch.cat([want, want.sigmoid()]).detach(), rtol=0, atol=0.0051)
    before = re.search(r"rotate\((.*?)deg\) scale\((.*?)\)", svg)
    turn, shrink = map(float, before.groups())
    old, new = (torch.view_as_complex(vector.detach()) for vector in (w_D, w_D - w_D.grad))
    assert_close(
        torch.tensor([turn, shrink]), torch.stack([(new / old).angle().rad2deg(), (old / new).abs()]), rtol=0, atol=1e-3
    )


def test_three_steps_are_those_of_the_chapter():
    svg, x_LD = drawings.three_steps(), torch.tensor([[1.0, 0, 1], [0, 2, 0], [1, 1, 0], [0, 0, 2]])
    weights_LL = (x_LD @ x_LD.T).softmax(-1)
    y_LD, others = weights_LL @ x_LD, [0, 1, 3]
    assert_close(numbers(svg, "until-1"), x_LD @ x_LD[2])
    assert_close(numbers(svg, "from-2"), weights_LL[2], rtol=0, atol=0.0051)
    assert_close(numbers(svg, "from-3"), torch.cat([x_LD.flatten(), y_LD[2]]), rtol=0, atol=0.0051)
    last = [torch.tensor(found) for found in _groups(svg, "from-4")]
    want = torch.cat([part[others].flatten() for part in (x_LD, weights_LL, y_LD)])
    assert_close(torch.cat(last), want, rtol=0, atol=0.0051)


def test_three_masks_are_those_of_the_layers():
    svg = drawings.three_masks()
    lit = [cell == "1" for cell in re.findall(r'class="cell score" style="--w:([01])', svg)]
    real_M = torch.arange(5) < 4
    masks = [real_M.expand(5, 5), causal(4), real_M.expand(4, 5)]
    assert lit == torch.cat([mask.flatten() for mask in masks]).tolist()


def test_one_pass_ends_at_softmax():
    svg, scores, values = drawings.one_pass(), torch.tensor([1.0, 3, 2, 5]), torch.tensor([4.0, 0, 8, 2])
    first = (scores[:2] - 3).exp()
    kept = {"until-1": (3, first.sum(), first @ values[:2])}
    kept["from-2 until-2"] = (5, first.sum() * torch.tensor(-2.0).exp(), first @ values[:2] * torch.tensor(-2.0).exp())
    kept["from-3"] = (5, (scores - 5).exp().sum(), (scores - 5).exp() @ values)
    for part, want in kept.items():
        (found,) = [n for n in map(torch.tensor, _groups(svg, part)) if len(n) == 3]
        assert_close(found, torch.tensor([float(x) for x in want]), rtol=0, atol=0.0006)
    assert_close(numbers(svg, "from-4"), (scores.softmax(0) @ values)[None], rtol=0, atol=0.0006)


def _groups(svg: str, part: str) -> list[list[float]]:
    groups = re.findall(rf'<g class="{part}">(.*?)</g>', svg)
    return [[float(said) for said in re.findall(r">(-?[\d.]+)</text>", inside)] for inside in groups]


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}], ids=["phone", "desk"])
@pytest.mark.parametrize("name", PAGES)
def test_every_step_changes_a_picture_that_stays(visit, name, viewport):
    page = visit(f"chapters/{PAGES[name]}.html", viewport=viewport, motion="no-preference")
    page.add_style_tag(content=FREEZE)
    story, pictures = page.locator(".story"), []
    steps = story.locator(".steps > li").count()
    for n in range(steps):
        page.evaluate(READ, n)
        expect(story).to_have_attribute("data-at", str(n + 1))
        top, bottom = story.evaluate(PICTURE)
        assert 0 <= top < bottom <= viewport["height"], f"at step {n + 1} the picture is out of sight"
        pictures.append(story.evaluate(SEEN))
    assert len(set(pictures)) == steps, "a step changes nothing"


@pytest.mark.parametrize("how", [{"motion": "reduce"}, {"javascript": False}], ids=["still", "no scripts"])
def test_without_motion_all_is_there(visit, how):
    page = visit(f"chapters/{PAGES['one-pass']}.html", **how)
    story = page.locator(".story")
    story.scroll_into_view_if_needed()
    for item in story.locator(".steps > li").all():
        expect(item).to_be_visible()
    if "motion" in how:
        assert story.get_attribute("data-at") is None
        assert "2.054" in story.evaluate(SEEN)
        assert "0.541" not in story.evaluate(SEEN)


@pytest.mark.parametrize("name", PAGES)
def test_in_plain_markdown_the_formulas_of_a_step_are_whole(site, name):
    """A blank line ends a formula there."""
    cells = json.loads(site.text(f"colab/{PAGES[name]}.ipynb"))["cells"]
    formulas = [part for cell in cells for part in re.findall(r"\$\$\n(.*?)\$\$", "".join(cell["source"]), re.DOTALL)]
    assert formulas
    assert not [formula for formula in formulas if re.search(r"\n\s*\n", formula)]
