"""LiveTransformer: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy

import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import capture_attention
from attnbook.learning.text import START, STOP
from attnbook.tasks.dates import date_pairs, date_transformer
from attnbook.widgets import LiveTransformer
from tests.browser.pages import bare
from tests.widgets.laws import Moving
from tests.widgets.reading import parsed
from tests.widgets.steps import choose, compose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    const codes = (selector) => texts(selector).flatMap((t) => [...t].map((letter) => String(letter.codePointAt(0))));
    const light = (selector) => seen(selector).map((part) => part.style.getPropertyValue("--w"));
    return {
        lines: [...codes(".ab-read span"), ...codes(".ab-lines output span")],
        tiles: [...light(".ab-read span"), ...light(".ab-lines output span")],
        beams: light(".ab-beams path"),
        columns: codes(".ab-map thead th"),
        rows: codes(".ab-map tbody th"),
        weights: texts(".ab-map td.ab-weight").filter(Boolean),
        colours: light(".ab-map td.ab-weight"),
        here: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-chosen")))),
        chances: texts(".ab-lists .ab-number"),
        lit: light(".ab-lists .ab-number"),
        letters: codes(".ab-lists tbody th"),
        pressed: seen(".ab-lists button").map((key) => String(Number(key.ariaPressed === "true"))),
        now: codes(".ab-now"),
        hint: codes(".ab-lists .ab-hint"),
        value: node.querySelector(".ab-written input").getAttribute("aria-valuetext").match(/\\d+/g),
        most: node.querySelector(".ab-written input").max,
    };
}"""


def instead(letter, token, place):
    """Among the letters that could be written, this one."""
    (_, act, _), *_ = press(letter, {})
    kept = lambda twin: [pair for pair in twin.forced if pair[0] < place]  # noqa: E731
    return [(f"{letter!r} instead", act, {"forced": lambda twin: kept(twin) + ([[place, token]] if token else [])})]


def expected(widget) -> dict[str, Tensor]:
    """The whole of what is written is read again for each letter: nothing is kept between two steps."""
    model, known = date_transformer()
    model = copy.deepcopy(model).double()
    source, ids, forced, own = known.encode([widget.text]), [START], dict(map(tuple, widget.forced)), []
    while len(own) < 11 and ids[-1] != STOP:
        scores = model(source, torch.tensor([ids]))[0, -1]
        own.append(STOP + scores[STOP:].argmax().item())
        ids.append(forced.get(len(own) - 1, own[-1]))
    with capture_attention(model) as maps:
        chances = model(source, torch.tensor([ids[:-1]]))[0].softmax(-1)
    kind = {"encoder": "encoder.0.self", "decoder": "decoder.0.self", "cross": "decoder.0.cross"}[widget.where]
    heads = maps[f"{kind}_attention"][0]
    weights = heads[widget.head - 1] if widget.head else heads.mean(0)
    tokens = {" ": "·", "<stop>": "■", "<start>": "▸"}
    signs = lambda numbers: [tokens.get(known.tokens[n], known.tokens[n]) for n in numbers]  # noqa: E731
    codes = lambda letters: torch.tensor([ord(letter) for letter in letters])  # noqa: E731
    read, written, step = signs(source[0].tolist()), signs(ids[1:]), min(widget.step, len(own))
    shown = written[:step] + ["?"] * (len(written) - step)
    at, nothing = step - 1, torch.tensor([])
    top = chances[at, STOP:].topk(5) if step else None
    p = chances[at, ids[step]] if step else nothing
    if widget.where == "encoder":
        rows, columns, there = read, read, torch.ones(len(read), dtype=torch.bool)
    else:
        columns = read if widget.where == "cross" else ["▸", *shown[:-1]]
        rows, there = shown, torch.arange(len(written)) < step
    cells = weights[there] if widget.where != "decoder" else [row[: i + 1] for i, row in enumerate(weights[there])]
    asking = weights if widget.where == "encoder" else weights[max(at, 0) : step]
    looks = asking.mean(0) if len(asking) else torch.zeros(weights.shape[1])
    dark = torch.zeros(len(read)), torch.zeros(1 + len(written))
    of_written = torch.cat([looks, torch.zeros(1)])  # nothing looks at the last letter
    seen_of_asking = asking[:, :step] if widget.where == "decoder" else asking
    say, p = widget.edition_words(), chances[at, ids[step]]
    now, hint = say["nothing"], ""
    if step:
        now = say["wrote"].format(n=step, letter=written[at], chance=f"{p:.2f}", loss=f"{abs(-p.log()):.2f}")
        hint = say["hint"] if own[at] == ids[step] else say["yours"].format(letter=signs(own[at:step])[0])
    return {
        "lines": codes([*read, "▸", *written[:step]]),
        "tiles": torch.cat([dark[0], of_written] if widget.where == "decoder" else [looks, dark[1]]),
        "beams": seen_of_asking,
        "columns": codes(columns),
        "rows": codes(rows),
        "weights": torch.cat([*cells]) if len(cells) else nothing,
        "colours": weights * there[:, None],
        "here": (torch.arange(len(rows)) == at) & (widget.where != "encoder"),
        "chances": top.values if step else nothing,
        "lit": top.values if step else nothing,
        "letters": codes(signs((STOP + top.indices).tolist())) if step else nothing,
        "pressed": STOP + top.indices == ids[step] if step else nothing,
        "now": codes(now),
        "hint": codes(hint),
        "value": torch.tensor([step, len(own)]),
        "most": torch.tensor(len(own)),
    }


class TestLiveTransformer(Moving):
    kind = LiveTransformer
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"step": lambda twin: twin.step + 1}),
        *choose("where", "encoder"),
        *choose("head", 1, 4, 0),
        *choose("where", "decoder"),
        *press("11/12/13", {"text": "11/12/13", "step": 0, "forced": []}),
        *slide("Letters written", "step", last=11),
        *press("Back", {"step": 10}),
        *instead("end", STOP, 9),
        *choose("where", "cross"),
        *press("Monday", {"text": "Monday", "step": 0, "forced": []}),
        *press("Forward", {"step": 1}),
        *instead("2", date_transformer()[1].ids["2"], 0),
        *instead("0", None, 0),
        *press("Forward", {"step": 2}),
        *compose("5 may 1955", forced=[]),
    ]
    happens = [*press("Forward", {"step": 4}), *press("Forward", {"step": 5})]
    changes = [
        {"step": 11},
        {"text": "7/4/76"},
        {"where": "encoder"},
        {"forced": [[0, 9]]},
        {"forced": [[1, 2]]},
        {"step": 1},
        {"head": 4},
        {"text": "Monday"},
    ]
    states = {
        "a long date and its encoder": LiveTransformer("1" * 29, step=11, where="encoder", head=2),
        "nothing written, the decoder": LiveTransformer(step=0, where="decoder"),
        "no date, forced twice": LiveTransformer("Monday", step=3, forced=[[0, 8], [2, 9]], where="decoder", head=3),
        "a forced end": LiveTransformer("7", step=11, forced=[[1, 2]]),
    }
    drags = {"letters of the Transformer": (LiveTransformer(), slide("Letters written", "step", last=11))}
    errors = [
        (lambda: LiveTransformer("7 März"), r"the network has never met z ä; it knows the letters of dates"),
        (
            lambda: LiveTransformer(forced=[[0, 1]]),
            r"a position from 0 to 10 and a token that is written; got \[0, 1\]",
        ),
        (lambda: LiveTransformer(forced=[[11, 9]]), r"a position from 0 to 10"),
        (lambda: LiveTransformer(forced=[[0, 49]]), r"a token that is written"),
        (lambda: LiveTransformer(head=5), r"'head' trait .* not be greater than 4"),
        (lambda: LiveTransformer(where="memory"), r"'where' trait .* any of \['cross', 'decoder', 'encoder'\]"),
    ]


def test_the_transformer_on_the_page_is_torchs(visit):
    """200 dates that neither was taught, every fourth with a letter forced: all attention, all chances, to 1e-4."""
    model, known = date_transformer()
    dates = [pair.source for pair in date_pairs(200, held_out=True)]
    forced = [[] if i % 4 else [[i % 10, 3 + i % 46]] for i in range(200)]
    script = """async ([file, dates, forced]) => {
        const address = new URL("_static/widgets/live_transformer/date_transformer.js", location);
        const { dateTransformer } = await import(address);
        const answer = await fetch(new URL(`_static/widgets/${file}`, location));
        const { read } = dateTransformer(await answer.arrayBuffer());
        return dates.map((text, i) => read(text, forced[i]));
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [LiveTransformer.inputs()["model"].page_name, dates, forced])
    for text, instead, run in zip(dates, forced, found, strict=True):
        steps, encoder = run["steps"], torch.tensor(run["encoder"])
        source, written = known.encode([text]), torch.tensor([[START, *(step["token"] for step in steps)]])
        with torch.no_grad(), capture_attention(model) as maps:
            chances = model(source, written[:, :-1])[0].softmax(-1)
        own = chances[:, STOP:].argmax(-1) + STOP
        assert [step["own"] for step in steps] == own.tolist(), text
        for place, token in instead:
            own[place] = token
        assert written[0, 1:].tolist() == own.tolist(), text
        cross, before = ([step[kind] for step in steps] for kind in ("cross", "decoder"))
        padded = [[head + [0] * (len(steps) - len(head)) for head in heads] for heads in before]
        for name, got, want in [
            ("chances", torch.tensor([step["chances"] for step in steps]), chances),
            ("encoder", encoder.transpose(0, 1), maps["encoder.0.self_attention"][0]),
            ("decoder", torch.tensor(padded).transpose(0, 1), maps["decoder.0.self_attention"][0]),
            ("cross", torch.tensor(cross).transpose(0, 1), maps["decoder.0.cross_attention"][0]),
        ]:
            assert_close(got, want, rtol=0, atol=1e-4, msg=f"{text}: {name}")


def test_table_of_what_is_written():
    _, chances, maps = LiveTransformer("7/4/76").read()
    page = parsed(LiveTransformer("7/4/76"))
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    looks = maps["cross"].mean(0).argmax(-1).tolist()
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in looks]
    assert [cell.text for cell in page.select("td:nth-of-type(2)")] == places
    shares = torch.tensor([float(cell.text) for cell in page.select("td:nth-of-type(1)")[1:]])
    assert_close(shares, chances.amax(-1), rtol=0, atol=0.00501)
    forced = parsed(LiveTransformer("11/12/13", forced=[[0, date_transformer()[1].ids["1"]]]))
    assert forced.select("td")[1].text == "0.00", "the chance of what was written"


def test_what_chapter_9_says_of_the_writer_of_dates():
    letters, chances, _ = LiveTransformer("11/12/13").read()
    assert "".join(letters) == "2013-11-12■"
    assert chances.amax(-1)[:4].min() >= 0.995
    _, known = date_transformer()
    other = LiveTransformer("11/12/13", forced=[[0, known.ids["1"]]])
    assert "".join(other.read()[0]) == "1913-11-12■"
    assert chances[0, known.ids["1"]] < 0.001
    assert known.ids["1"] in chances[0].topk(5).indices
    text = "23rd of october 1962"
    maps = LiveTransformer(text).read()[2]
    favourites = maps["encoder"].mean(1).argmax(-1)
    assert [(text + "■")[j] for j in favourites] == ["c", "c", "d", "■"]
    assert (maps["encoder"][1, 8:15].argmax(-1) == text.index("c")).all()  # every letter of october
    looks = [(text + "■")[j] for j in maps["cross"].mean(0).argmax(-1)]
    assert looks[:4] == ["9", "■", "6", "2"]
    assert looks[5:7] == ["t", "c"]
    assert looks[8:10] == ["2", "3"]
    letters, chances, _ = LiveTransformer("Monday").read()
    assert "".join(letters) == "000-05-0-0■"
    assert 0.885 < chances.amax(-1).min() < 0.895
