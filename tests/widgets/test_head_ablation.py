"""HeadAblation: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor
from torch.testing import assert_close

from attnbook.tasks.marks import finders
from attnbook.widgets import HeadAblation
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, press

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
    const light = (selector) => seen(selector).map((part) => part.style.getPropertyValue("--w"));
    const spans = (n) => seen(`.ab-answer p:nth-of-type(${n}) span`).filter((part) => part.translate);
    return {
        tiles: seen(".ab-tiles span").flatMap((tile) => [tile.textContent, tile.dataset.mark || " "])
            .map((sign) => String(sign.codePointAt(0))),
        tileLight: light(".ab-tiles span"),
        beams: light(".ab-beams path"),
        colours: seen(".ab-beams path").map((path) => path.getAttribute("class").match(/\\d/)[0]),
        text: codes(seen(".ab-map thead th")),
        weights: seen(".ab-map .ab-weight").map((cell) => cell.textContent),
        mapLight: light(".ab-map .ab-weight"),
        off: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-off")))),
        on: seen(".ab-switches button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
        letters: codes(seen(".ab-answer [translate=no]")),
        lamps: light(".ab-lamp"),
        chances: spans(2).map((part) => part.textContent),
        wrong: seen(".ab-answer").map((answer) => String(Number(answer.matches(".ab-wrong")))),
        figures: [...spans(3), ...seen(".ab-loss span")].map((part) => part.textContent),
    };
}"""


def switch_on_all(steps):
    return [(what, act, {**changes, "off": []}) for what, act, changes in steps]


def expected(widget) -> dict[str, Tensor]:
    model, H = copy.deepcopy(finders()[widget.heads]).double(), widget.heads
    letters, marks, answers = widget.texts()
    part = lambda x: rearrange(x, "... M (H K) -> ... H M K", H=H)  # noqa: E731
    q = part(model.attention.query(model.query.expand(len(letters), 1, -1)))
    k, v = part(model.attention.key(model.marks(marks))), part(model.attention.value(model.letters(letters)))
    on = torch.tensor([h not in widget.off for h in range(H)])
    blended = F.scaled_dot_product_attention(q, k, v) * on[:, None, None]
    answer = lambda x: model.answers(model.attention.output(rearrange(x, "B H 1 K -> B (H K)"))).unflatten(-1, (2, 8))  # noqa: E731
    scores = answer(blended)
    weights = (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1)[0, :, 0]
    chances, said = scores.softmax(-1)[0].max(-1)
    alone = answer(torch.eye(H).double()[:, :, None, None] * blended[:1]) - answer(torch.zeros_like(blended[:1]))
    said_by = alone.gather(-1, said.expand(H, 2)[..., None])[..., 0] - alone.mean(-1)
    lifts = said_by.clamp(min=0)  # of each head, for each answer
    arrives = chances * lifts / lifts.sum(0).clamp(min=1e-12)
    right = (scores.argmax(-1) == answers)[1:].double().mean(0)
    loss = F.cross_entropy(scores[1:].flatten(0, 1), answers[1:].flatten())
    names = "".join("abcdefgh"[x] + ["", "★", "●"][m] for x, m in zip(letters[0], marks[0], strict=True))
    codes = lambda text: torch.tensor([ord(letter) for letter in text])  # noqa: E731
    signs = [("abcdefgh"[x], ["", "★", "●"][m] or " ") for x, m in zip(letters[0], marks[0], strict=True)]
    lit = weights * on[:, None]
    return {
        "tiles": codes("".join(map("".join, signs))),
        "tileLight": lit.amax(0),
        "beams": torch.cat([lit, arrives], -1),
        "colours": torch.arange(H).repeat_interleave(10),
        "text": codes(names),
        "weights": weights,
        "mapLight": weights,
        "off": ~on,
        "on": on,
        "letters": codes("".join("abcdefgh"[x] for pair in zip(said, answers[0], strict=True) for x in pair)),
        "lamps": chances,
        "chances": chances,
        "wrong": said != answers[0],
        "figures": torch.stack([100 * right[0], 100 * right[1], loss]),
    }


class TestHeadAblation(Laws):
    kind = HeadAblation
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("head 1", {"off": [0]}),
        *press("head 2", {"off": [0, 1]}),
        *press("head 1", {"off": [1]}),
        *switch_on_all(choose("heads", 4)),
        *press("head 3", {"off": [2]}),
        *switch_on_all(choose("heads", 1, 2)),
        *press("Another text", {"seed": lambda twin: twin.seed + 1}),
    ]
    changes = [{"off": [1]}, {"heads": 4}, {"off": [0, 3, 7]}, {"seed": 5}, {"heads": 1}]
    states = {
        "all heads off": HeadAblation(off=[0, 1]),
        "heads off that are not there": HeadAblation(heads=1, off=[1, 3]),
        "four heads, two of them off": HeadAblation(heads=4, off=[0, 2], seed=9),
    }
    errors = [
        (lambda: HeadAblation(heads=3), r"'heads' trait .* any of \[1, 2, 4\]"),
        (
            lambda: HeadAblation(off=[-1]),
            r"element of the 'off' trait .* less than 0|'off' trait .* not be less than 0",
        ),
    ]


def test_table_of_heads():
    assert parsed(HeadAblation(heads=2)).caption.text == "Right under the star: 100%, under the dot: 100%"
    page = parsed(HeadAblation(heads=4, off=[2]))
    assert [head.text for head in page.select("th[scope=row]")] == ["head 1", "head 2", "head 3 (off)", "head 4"]
    assert_close(numbers(HeadAblation(heads=4)).sum(-1), torch.ones(4), rtol=0, atol=0.021)


def test_what_chapter_6_says_of_heads_that_are_off():
    right = {off: HeadAblation(heads=4, off=list(off)).right() for off in [(0,), (1,), (2,), (3,), (2, 3)]}
    assert round(right[2,][1].item(), 2) == 0.94
    assert min(right, key=lambda off: -right[off].min()) == (2,), "the one that is missed least"
    assert right[2, 3][1] < 0.2
    assert HeadAblation(heads=1).right()[1] < 0.15
