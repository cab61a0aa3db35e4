"""FillValue: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import re

import torch
from playwright.sync_api import expect
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import FillValue
from tests.browser.pages import bare
from tests.widgets.laws import Laws, live
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, slide

READ = """(node) => {
        const panels = [...node.querySelectorAll(".ab-panel")].map((panel) =>
            [...panel.querySelectorAll("td")].map((cell) => cell.textContent));
        return {
            errors: panels.map((texts) => String(Number(texts.includes("–")))),
            numbers: panels.filter((texts) => !texts.includes("–")),
            good: [...node.querySelectorAll(".ab-verdict")].map((said) => String(Number(said.matches(".ab-good")))),
        };
    }"""


FILLS = [
    FillValue(fill=fill, shift=shift, hidden=hidden, how=how)
    for fill in FillValue.inputs()["fill"].values
    for shift in (0, -10, -50, -9995, -20_000)
    for hidden in ("two", "all")
    for how in ("write", "add")
]


VERDICTS = {
    "float32: hidden, with a weight of exactly 0": FillValue(fill="-1e4"),
    "float16: hidden, with a weight of exactly 0": FillValue(fill="-inf"),
    "bfloat16: it leaks. The hidden keys keep a share": FillValue(fill="-10"),
    "float16: the hidden keys took everything": FillValue(fill="-1e4", shift=-20_000),
    "float16: PyTorch raises an error: this format has no such number": FillValue(fill="-1e9"),
    "bfloat16: hidden. But this format can't tell the shifted scores apart": FillValue(fill="-1e9", shift=-9995),
    "float32: NaN. The row is lost": FillValue(fill="-inf", hidden="all"),
    "float16: NaN. The row is lost": FillValue(fill="lowest", hidden="all", how="add", shift=-50),
    "float32: every key is hidden, and the weights are those of no mask": FillValue(hidden="all", how="add"),
    "float16: every key is hidden, and every key gets the same share": FillValue(fill="lowest", hidden="all"),
}


def expected(widget) -> dict[str, Tensor]:
    errors, numbers, good = [], [], []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        scores = torch.tensor([2.0, 1, 0, 3, 1], dtype=dtype) + widget.shift
        hidden = torch.tensor([widget.hidden == "all"] * 3 + [True] * 2)
        fill = torch.finfo(dtype).min if widget.fill == "lowest" else float(widget.fill)
        try:
            masked = scores + hidden.to(dtype) * fill if widget.how == "add" else scores.masked_fill(hidden, fill)
        except RuntimeError:
            errors, good = [*errors, True], [*good, False]
            continue
        weights = masked.softmax(-1)
        leak = weights[hidden].double().sum()
        apart = scores[:3].unique().numel() == 3
        errors, good = [*errors, False], [*good, bool(leak == 0 and widget.hidden == "two" and apart)]
        numbers += [torch.stack([scores, masked, weights], -1).double().flatten(), leak[None]]
    return {"errors": torch.tensor(errors), "numbers": torch.cat(numbers), "good": torch.tensor(good)}


class TestFillValue(Laws):
    kind = FillValue
    read = READ
    expected = staticmethod(expected)
    steps = [
        *choose("fill", "0", "-10", "-1e9", "lowest", "-inf", "-1e4"),
        *slide("Add to every score", "shift", first=-20_000),
        *choose("how", "add", "write"),
        *choose("hidden", "all"),
    ]
    changes = [{"shift": -9995}, {"hidden": "all"}, {"how": "add"}]
    drags = {"shift": (FillValue(), slide("Add to every score", "shift", first=-20_000))}
    errors = [
        (lambda: FillValue(fill="-5"), r"'fill' trait .* any of \['0', '-10', "),
        (lambda: FillValue(shift=1), r"'shift' trait .* not be greater than 0"),
    ]


def test_every_fill_gives_the_weights_of_torch(visit):
    """The half types within one unit of the last binary place (float32 within two, as it sums in an order of its own);
    zero and NaN exactly; an error where PyTorch raises one."""
    page = visit("bare.html", served={"bare.html": bare()})
    script = """async (all) => {
        const { attempt } = await import(new URL("_static/widgets/fill_value/fill_value.js", location));
        return all.map(([dtype, inputs]) => attempt(dtype, inputs).weights?.map(String));
    }"""
    dtypes = (torch.float32, torch.bfloat16, torch.float16)
    cases = [(widget, dtype) for widget in FILLS for dtype in dtypes]
    names = [(str(d).removeprefix("torch."), {n: getattr(w, n) for n in w.inputs()}) for w, d in cases]
    for (widget, dtype), (_, inputs), texts in zip(cases, names, page.evaluate(script, names), strict=True):
        want = widget.weights(dtype)
        assert (texts is None) == (want is None), f"{dtype}, {inputs}"
        if want is None:
            continue
        got = torch.tensor([float(text) for text in texts], dtype=torch.float64)
        about = torch.finfo(dtype)
        unit = (about.eps * 2 ** want.double().log2().floor()).clamp(min=about.smallest_normal * about.eps)
        close = (got - want.double()).abs() <= (2 if dtype == torch.float32 else 1) * unit
        same = torch.where((want == 0) | want.isnan(), (got == want) | (got.isnan() & want.isnan()), close)
        assert same.all(), f"{dtype}, {inputs}: the page has {got.tolist()}, torch {want.tolist()}"


def test_what_a_fill_does_is_said_in_words(visit):
    page = visit("bare.html", served={"bare.html": bare(*VERDICTS.values())})
    for place, words in enumerate(VERDICTS):
        said = live(page, place).locator(".ab-verdict")
        expect(said.filter(has_text=re.compile(f"^{re.escape(words)}"))).to_have_count(1)


def test_numbers_are_rounded_as_torch_rounds_them(visit):
    draw = torch.Generator().manual_seed(1)
    numbers = torch.randn(400, generator=draw) * torch.logspace(-9, 9, 400)
    edges = [65504.0, 65519.0, 65520.0, -65520.0, 6e-8, 2.9e-8, 1.0009765625, 2049.0, 2051.0, 257.0, 0.0]
    numbers = torch.cat([numbers, torch.tensor(edges)]).double()
    page = visit("bare.html", served={"bare.html": bare()})
    script = """async ([all, format]) => {
        const { rounded } = await import(new URL("_static/widgets/fill_value/fill_value.js", location));
        return all.map((x) => String(rounded(x, format)));
    }"""
    formats = {torch.float16: (10, -14, 65504), torch.bfloat16: (7, -126, torch.finfo(torch.bfloat16).max)}
    for dtype, (digits, least, most) in formats.items():
        format = {"digits": digits, "least": least, "most": most}
        texts = page.evaluate(script, [numbers.tolist(), format])
        got = torch.tensor([float(text.replace("Infinity", "inf")) for text in texts], dtype=torch.float64)
        assert torch.equal(got, numbers.float().to(dtype).double())


def test_table_of_fills():
    assert parsed(FillValue(fill="-1e9")).select("tr")[3].text == "float16" + 5 * "error"
    weights = numbers(FillValue(fill="-10"))
    assert ((weights[:, 3:] > 0) & (weights[:, 3:] < 1e-5)).all()
    assert_close(numbers(FillValue(fill="-1e4", shift=-20_000))[:, 3:], torch.full((3, 2), 0.5))
    assert numbers(FillValue(fill="-inf", hidden="all")).isnan().all()
