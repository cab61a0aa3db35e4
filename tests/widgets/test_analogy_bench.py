"""AnalogyBench: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from attnbook.data import english_vectors
from attnbook.widgets import AnalogyBench
from tests.widgets.laws import Laws
from tests.widgets.oracles import doubles
from tests.widgets.reading import codes, numbers, parsed
from tests.widgets.steps import choose, fill, press

READ = """(node) => {
    const shown = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
    const ways = (svg) => { // in the picture, two sides and the dashed line, over the first side
        const pairs = (path) => path.getAttribute("d").match(/[-\\d.e]+ [-\\d.e]+/g);
        const ends = (path) => pairs(path).map((pair) => pair.split(" ").map(Number));
        const [a, b, corner, c] = ends(svg.querySelector(".ab-shape"));
        const [, answer] = ends(svg.querySelector(".ab-error"));
        const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
        const lengths = far(a, b) ? [far(a, c), far(b, corner), far(corner, answer)] : [];
        return lengths.map((length) => String(length / far(a, b)));
    };
    const stars = (svg) => { // how far from a, over the first side
        const [a, b] = [".ab-a", ".ab-b"].map((name) => svg.querySelector(`circle${name}`));
        const far = (p, q) => Math.hypot(...["cx", "cy"].map((x) => p.getAttribute(x) - q.getAttribute(x)));
        return far(a, b) ? shown("circle.ab-other").map((star) => String(far(a, star) / far(a, b))) : [];
    };
    const answered = shown(".ab-body:not([data-waiting]) svg");
    return {
        words: codes(shown("tbody th")),
        cosines: shown("tbody .ab-number").map((part) => part.textContent),
        bars: shown(".ab-bar i").map((bar) => bar.style.getPropertyValue("--w")),
        asked: shown("tbody tr").map((row) => String(Number(row.classList.contains("ab-asked")))),
        figures: shown("dd").map((part) => part.textContent),
        ways: answered.flatMap(ways),
        stars: answered.flatMap(stars),
        corners: codes(shown("svg text:not(.ab-other)")),
        waits: String(Number(!answered.length)),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    if not widget.asked:
        names = ["words", "cosines", "bars", "asked", "figures", "ways", "stars"]
        corners = codes(widget.a, widget.b, widget.c, "?")
        return dict.fromkeys(names, torch.tensor([])) | {"corners": corners, "waits": torch.tensor(1)}
    rows = torch.tensor([english_vectors().index[word] for word in (widget.a, widget.b, widget.c)])
    units = F.normalize(doubles(), dim=-1)
    a, b, c = units[rows]
    corner = b - a + c
    cosines = F.cosine_similarity(corner, units, dim=-1)
    if widget.queries == "out":
        cosines[rows] = -2
    best = cosines.topk(8)
    gap = units[best.indices[0]] - corner
    plane = torch.stack([b - a, c - a], -1)

    def shadow_of(x):
        """On the plane."""
        return plane @ torch.linalg.lstsq(plane, x[:, None], driver="gelsd").solution[:, 0]

    flat = shadow_of(gap)
    others = [i for i in best.indices[1:] if i not in rows]
    first, second, shadow = (b - a).norm(), (c - a).norm(), flat.norm()
    words = [word for word, _ in widget.ranking()]
    return {
        "words": codes(*words),
        "cosines": best.values,
        "bars": best.values.clamp(min=0),
        "asked": torch.isin(best.indices, rows),
        "figures": torch.stack([first, second, gap.norm(), (gap - flat).norm()]),
        "ways": torch.stack([second, second, shadow]) / first if first else torch.tensor([]),
        "stars": torch.stack([shadow_of(units[i] - a).norm() for i in others]) / first if first else torch.tensor([]),
        "corners": codes(*(word for word in (widget.a, widget.b, widget.c) if word != words[0]), words[0]),
        "waits": torch.tensor(0),
    }


class TestAnalogyBench(Laws):
    kind = AnalogyBench
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Find the fourth word", {"asked": True}),
        *choose("queries", "in", "out"),
        *fill("This word", "uncle", {"a": "uncle"}),
        *fill("is to this one", "aunt", {"b": "aunt"}),
        *fill("as this one", "brother", {"c": "brother"}),
        *press("france paris japan", {"a": "france", "b": "paris", "c": "japan"}),
    ]
    changes = [{"asked": True}, {"c": "prince"}, {"queries": "in"}]
    states = {
        "an analogy": AnalogyBench("big", "bigger", "cold", asked=True),
        "an analogy of one word": AnalogyBench("river", "river", "river", asked=True, queries="in"),
        "an analogy with itself": AnalogyBench("king", "queen", "king", asked=True, queries="in"),
    }
    errors = [
        (lambda: AnalogyBench("man", "woman", "zyzzyva"), r"no vector for 'zyzzyva'"),
        (lambda: AnalogyBench("man", "", "king"), r"no vector for ''"),
    ]


def test_table_of_an_analogy():
    for queries, best in (("out", "queen"), ("in", "king")):
        page = parsed(AnalogyBench(queries=queries))
        assert page.select_one("th[scope=row]").text == best
        assert page.select_one("caption").text == "man is to woman as king is to …"
    want = english_vectors().analogy("man", "woman", "king", 8)
    assert_close(numbers(AnalogyBench())[:, 0], torch.tensor([x for _, x in want]), rtol=0, atol=0.0005)
