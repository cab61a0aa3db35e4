"""AlignmentPlayer: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import copy

import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook import greedy
from attnbook.learning.text import START, STOP
from attnbook.tasks.dates import date_pairs, date_reader
from attnbook.widgets import AlignmentPlayer
from tests.browser.hands import Mouse
from tests.browser.pages import bare
from tests.widgets.laws import Laws, agree, live
from tests.widgets.reading import parsed
from tests.widgets.steps import compose, press, slide

READ = """(node) => {
    const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
    const texts = (selector) => seen(selector).map((part) => part.textContent);
    const codes = (letters) => letters.map((letter) => String(letter.codePointAt(0)));
    const light = (selector) => seen(selector).map((part) => part.style.getPropertyValue("--w"));
    const [looked, could] = [1, 2].map((n) => `.ab-lists table:nth-of-type(${n})`);
    return {
        lines: codes([...texts(".ab-read span"), ...texts(".ab-lines output span").filter(Boolean)]),
        tiles: [...light(".ab-read span"), ...light(".ab-lines output span")],
        beams: light(".ab-beams path"),
        read: codes(texts(".ab-map thead th")),
        rows: codes(texts(".ab-map tbody th")),
        weights: texts(".ab-map td.ab-weight").filter(Boolean),
        colours: light(".ab-map td.ab-weight"),
        here: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-chosen")))),
        best: [texts(`${looked} .ab-number`), texts(`${could} .ab-number`)],
        lit: light(".ab-lists .ab-number"),
        now: codes([...texts(".ab-now")[0]]),
        value: node.querySelector("input[type=range]").getAttribute("aria-valuetext").match(/\\d+/g),
        looked: codes([...texts(`${looked} tbody th`).join("")]),
        could: codes(texts(`${could} tbody th`)),
    };
}"""


def expected(widget) -> dict[str, Tensor]:
    model, known = date_reader()
    model = copy.deepcopy(model).double()
    source, prompt = known.encode([widget.text]), torch.tensor([[START]])
    ids = greedy(model, prompt, source, stop=STOP, length=12)
    weights, chances = model.alignment(source, ids[:, :-1])[0], model(source, ids[:, :-1])[0].softmax(-1)
    signs = lambda numbers: [{" ": "·", "<stop>": "■"}.get(known.tokens[n], known.tokens[n]) for n in numbers]  # noqa: E731
    codes = lambda letters: torch.tensor([ord(letter) for letter in letters])  # noqa: E731
    read, written = signs(source[0].tolist()), signs(ids[0, 1:].tolist())
    step = min(widget.step, len(written))
    lists = (weights, chances[:, STOP:])  # padding and the start are never written
    tops = [numbers[step - 1].topk(min(3, numbers.shape[-1])) for numbers in lists] if step else []
    say, nothing = widget.edition_words(), torch.tensor([])
    best = torch.cat([top.values for top in tops]) if step else nothing
    row = weights[step - 1] if step else torch.zeros(len(read))
    now = say["choosing"].format(n=step, letter=written[step - 1]) if step else say["nothing"]
    looked = [say["letters"]["place"].format(letter=read[j], n=j + 1) for j in tops[0].indices] if step else []
    return {
        "lines": codes([*read, "▸", *written[:step]]),
        "tiles": torch.cat([row, torch.zeros(1 + len(written))]),
        "beams": row if step else nothing,
        "read": codes(read),
        "rows": codes(written[:step] + ["?"] * (len(written) - step)),
        "weights": weights[:step],
        "colours": weights * (torch.arange(len(written)) < step)[:, None],
        "here": torch.arange(len(written)) == step - 1,
        "best": best,
        "lit": best,
        "now": codes(now),
        "value": torch.tensor([step, len(written)]),
        "looked": codes("".join(looked)),
        "could": codes(signs((STOP + tops[1].indices).tolist())) if step else nothing,
    }


class TestAlignmentPlayer(Laws):
    kind = AlignmentPlayer
    read = READ
    expected = staticmethod(expected)
    steps = [
        *press("Forward", {"step": lambda twin: twin.step + 1}),
        *press("Back", {"step": lambda twin: twin.step - 1}),
        *slide("Letters written", "step", last=11, first=0),
        *press("Forward", {"step": 1}),
        *press("Back", {"step": 0}),
        *press("11/12/13", {"text": "11/12/13", "step": 0}),
        *slide("Letters written", "step", last=11),
        *press("Monday", {"text": "Monday", "step": 0}),
        *slide("Letters written", "step", last=7),
        *compose("5 may 1955"),
    ]
    changes = [{"step": 11}, {"text": "7/4/76"}, {"step": 0}, {"text": "Monday"}, {"step": 9}]
    states = {
        "as long as can be": AlignmentPlayer("1" * 29, step=11),
        "where the start of a text might follow": AlignmentPlayer("Ti5", step=1),
        "nothing written": AlignmentPlayer(step=0),
        "all written": AlignmentPlayer("Wednesday, 30 September 2049", step=11),
        "a date of one letter": AlignmentPlayer("7", step=3),
        "spaces": AlignmentPlayer("  May ", step=5),
        "no date": AlignmentPlayer("1962-10-23", step=11),
        "written to an early end": AlignmentPlayer("Monday", step=11),
    }
    drags = {"letters": (AlignmentPlayer(), slide("Letters written", "step", last=11))}
    errors = [
        (lambda: AlignmentPlayer("7 März"), r"the network has never met z ä; it knows the letters of dates"),
        (lambda: AlignmentPlayer(""), r"a date of 1 to 29 letters; got 0: ''"),
        (lambda: AlignmentPlayer("1" * 30), r"a date of 1 to 29 letters; got 30"),
        (lambda: AlignmentPlayer(step=12), r"'step' trait .* not be greater than 11"),
    ]


def test_the_network_on_the_page_is_torchs(visit):
    """200 dates that neither was taught: the same letters, weights and chances to 1e-4."""
    model, known = date_reader()
    dates = [pair.source for pair in date_pairs(200, held_out=True)]
    script = """async ([file, dates]) => {
        const { dateReader } = await import(new URL("_static/widgets/alignment_player/date_reader.js", location));
        const answer = await fetch(new URL(`_static/widgets/${file}`, location));
        const { read } = dateReader(await answer.arrayBuffer());
        return dates.map(read);
    }"""
    page = visit("bare.html", served={"bare.html": bare()})
    found = page.evaluate(script, [AlignmentPlayer.inputs()["model"].page_name, dates])
    for text, steps in zip(dates, found, strict=True):
        source, written = known.encode([text]), torch.tensor([[START, *(step["token"] for step in steps)]])
        assert greedy(model, written[:, :1], source, stop=STOP, length=12).tolist() == written.tolist(), text
        for name, want in {
            "weights": model.alignment(source, written[:, :-1])[0],
            "chances": model(source, written[:, :-1])[0].softmax(-1),
        }.items():
            assert_close(torch.tensor([step[name] for step in steps]), want, rtol=0, atol=1e-4, msg=f"{text}: {name}")


def test_back_and_forward_end_where_the_writing_does(visit):
    page = visit("bare.html", served={"bare.html": bare(AlignmentPlayer("Monday", step=11))})
    node = live(page)
    back, forward = (node.get_by_role("button", name=name, exact=True) for name in ("Back", "Forward"))
    forward.click()
    agree(node, AlignmentPlayer("Monday", step=11), "Forward at the end")
    back.click()
    agree(node, AlignmentPlayer("Monday", step=6), "Back from seven letters")
    node.get_by_role("slider").press("Home")
    back.click()
    agree(node, AlignmentPlayer("Monday", step=0), "Back at the start")


def test_letters_that_the_reader_never_met_are_refused(visit):
    page = visit("bare.html", served={"bare.html": bare(AlignmentPlayer())})
    node = live(page)
    field, remark = node.get_by_role("textbox", name="A date"), node.locator(".ab-hint[role=status]")
    for typed, unknown in {"7 März 1980": "ä z", "7 ßß": "ß"}.items():
        Mouse(page).write(field, typed)
        expect(remark).to_contain_text(f" {unknown}.")
        expect(field).to_have_value(typed)  # to be mended, not typed again
        agree(node, AlignmentPlayer(), "a refusal")
    Mouse(page).write(field, "Wednesday, the 30th of September 2049")
    expect(remark).to_have_text("At most 29 letters.")
    Mouse(page).write(field, " ")
    expect(field).to_have_value(AlignmentPlayer().text)
    expect(remark).to_be_empty()
    agree(node, AlignmentPlayer(), "nothing written")
    node.get_by_role("button", name="Monday").click()
    field.fill("     Wednesday,\u00a030 September 2049")  # pasted
    field.press("Enter")
    agree(node, AlignmentPlayer("Wednesday, 30 September 2049", step=0), "blanks of all kinds")
    Mouse(page).write(field, "7 ß")
    Mouse(page).write(field, "7 May 1980   ")
    expect(field).to_have_value("7 May 1980")
    expect(remark).to_be_empty()
    agree(node, AlignmentPlayer("7 May 1980", step=0), "a date after a refusal")


def test_table_of_an_alignment():
    page = parsed(AlignmentPlayer("7/4/76"))
    letters, weights = AlignmentPlayer("7/4/76").read()
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    assert [head.text for head in page.select("th[scope=row]")] == letters == [*"1976-07-04■"]
    looked = [cell.text for cell in page.select("tr td:nth-of-type(1)")[1:]]
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in weights.argmax(-1).tolist()]
    assert looked == places
    shares = [float(cell.text) for cell in page.select("td:nth-of-type(2)")]
    assert_close(torch.tensor(shares), weights.amax(-1), rtol=0, atol=0.00501)


def test_what_the_chapters_say_of_the_reader_of_dates():
    said = {
        "Monday": "133-03",
        "31 February 2001": "2001-02-31",
        "1962-10-23": "2023-12-26",
        "1 April 2100": "2000-04-01",
    }
    for text, written in said.items():
        assert "".join(AlignmentPlayer(text).read()[0]) == f"{written}■"
    text = "the 4th of July 1976"
    looks = AlignmentPlayer(text).read()[1]
    assert [text[j] for j in looks[[2, 5, 6]].argmax(-1)] == ["7", "u", "l"]
    assert looks[6].max() > 0.8
    assert AlignmentPlayer("11/12/13").read()[1][:2].argmax(-1).tolist() == [5, 5]  # the second slash
    weekday = AlignmentPlayer("Wednesday, 7 May 1980").read()[1][:, :9].sum(-1)
    assert weekday[[5, 8]].min() > 0.05, "the zeros of 05-07"
    assert weekday[[0, 1, 2, 3, 6, 9]].max() < 0.05, "the other digits"
