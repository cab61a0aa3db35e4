"""FillValue: what it shows and what PyTorch says of it, how it is worked, what is known of it besides."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook.widgets import FillValue
from tests.browser.pages import bare
from tests.widgets.laws import Laws
from tests.widgets.reading import numbers, parsed
from tests.widgets.steps import choose, slide

READ = """(node) => {
    const panels = [...node.querySelectorAll(".ab-panel")].map((panel) =>
        [...panel.querySelectorAll("td")].map((cell) => cell.textContent));
    const said = [...node.querySelectorAll(".ab-verdict")];
    const verdicts = ["error", "nan", "ignored", "uniform", "takeover", "leak", "fine", "blurred"];
    const formats = [...node.querySelectorAll("caption")].map((caption) => caption.textContent);
    const set = (part, name) => Number(part.style.getPropertyValue(name)).toFixed(3);
    const style = (name) => [...node.querySelectorAll(".ab-key")].map((key) => set(key, name));
    const edges = [...node.querySelectorAll(".ab-line")].map((line) => set(line, "--edge"));
    return {
        places: style("--x"),
        lights: style("--w"),
        drops: style("--drop"),
        fell: [...node.querySelectorAll(".ab-key")].map((key) => String(Number(key.matches(".ab-fell")))),
        edges,
        errors: panels.map((texts) => String(Number(texts.includes("–")))),
        numbers: panels.filter((texts) => !texts.includes("–")),
        verdicts: said.map(({ dataset }) => String(verdicts.indexOf(dataset.verdict))),
        named: said.map(({ textContent }, i) => String(Number(textContent.startsWith(formats[i])))),
    };
}"""
VERDICTS = ["error", "nan", "ignored", "uniform", "takeover", "leak", "fine", "blurred"]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
FILLS = [
    FillValue(fill=fill, shift=shift, hidden=hidden, how=how)
    for fill in FillValue.inputs()["fill"].values
    for shift in (0, -10, -50, -9995, -20_000)
    for hidden in ("two", "all")
    for how in ("write", "add")
]


SAID = {
    "float32: fine": FillValue(fill="-1e4"),
    "float16: fine": FillValue(fill="-inf"),
    "bfloat16: leak": FillValue(fill="-10"),
    "float16: takeover": FillValue(fill="-1e4", shift=-20_000),
    "float16: error": FillValue(fill="-1e9"),
    "bfloat16: blurred": FillValue(fill="-1e9", shift=-9995),
    "float32: nan": FillValue(fill="-inf", hidden="all"),
    "float16: nan": FillValue(fill="lowest", hidden="all", how="add", shift=-50),
    "float32: ignored": FillValue(fill="-10", hidden="all", how="add"),
    "float16: uniform": FillValue(fill="lowest", hidden="all"),
}


def attempt(widget, dtype):
    """Which keys are hidden; the scores, masked scores and weights, or None where PyTorch raises an error."""
    masked = widget.masked(dtype)
    if masked is None:
        return widget.is_hidden, None
    return widget.is_hidden, torch.stack([widget.scores(dtype), masked, widget.weights(dtype)], -1).double()


def place(x):
    """Where a number is drawn: the square root of its power of ten, from the least bfloat16 to 0."""
    tens = (1 - x.clamp(max=0)).log10() / math.log10(torch.finfo(torch.bfloat16).max)
    return torch.where(x == -torch.inf, 0.025, torch.where(x > 0, 0.9 + x * 0.025, 0.9 - 0.8 * tens.sqrt()))


def drawn(widget, dtype):
    """Of each key the place, even where the format lacks it, the light, and the drop that it loses if hidden."""
    hidden, found = attempt(widget, dtype)
    masked = widget.scores(dtype).double().masked_fill(hidden, float(widget.fill)) if found is None else found[:, 1]
    light = torch.zeros(5).double() if found is None else found[:, 2].nan_to_num(0)
    drop = torch.where(hidden & (light > 0), (1 + light.log10() / 8).clamp(min=0.2), 0.0)
    return torch.stack([place(masked), light, drop, (masked == -torch.inf).double()])


def verdict(hidden, found) -> str:
    if found is None:
        return "error"
    scores, _, weights = found.unbind(-1)
    if weights.isnan().any():
        return "nan"
    if hidden.all():
        return "uniform" if (weights == weights[0]).all() else "ignored"
    if (weights[hidden] == 0).all():
        return "fine" if scores[:3].unique().numel() == 3 else "blurred"
    return "takeover" if (weights[~hidden] < 1e-6).all() else "leak"


def expected(widget) -> dict[str, Tensor]:
    attempts = [attempt(widget, dtype) for dtype in DTYPES.values()]
    numbers = [[found.flatten(), found[hidden, -1].sum()[None]] for hidden, found in attempts if found is not None]
    places, lights, drops, fell = torch.stack([drawn(widget, dtype) for dtype in DTYPES.values()], 1)
    return {
        "places": places,
        "lights": lights,
        "drops": drops,
        "fell": fell,
        "edges": place(torch.tensor([torch.finfo(dtype).min for dtype in DTYPES.values()]).double()),
        "errors": torch.tensor([found is None for _, found in attempts]),
        "numbers": torch.cat([part for parts in numbers for part in parts]),
        "verdicts": torch.tensor([VERDICTS.index(verdict(*it)) for it in attempts]),
        "named": torch.ones(3),
    }


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
    states = SAID
    drags = {"shift": (FillValue(), slide("Add to every score", "shift", first=-20_000))}
    errors = [
        (lambda: FillValue(fill="-5"), r"'fill' trait .* any of \['0', '-10', "),
        (lambda: FillValue(shift=1), r"'shift' trait .* not be greater than 0"),
    ]


@pytest.mark.parametrize("said", SAID)
def test_a_verdict_of_each_kind_is_among_the_states(said):
    dtype, kind = said.split(": ")
    assert verdict(*attempt(SAID[said], DTYPES[dtype])) == kind


def test_its_arithmetic_is_torchs(visit):
    page = visit("bare.html", served={"bare.html": bare()})

    def run(expression, argument):
        module = 'await import(new URL("_static/widgets/fill_value/formats.js", location))'
        return page.evaluate(
            f"async (x) => {{ const {{ attempt, rounded }} = {module}; return {expression}; }}", argument
        )

    every_fill_gives_the_weights_of_torch(run)
    numbers_are_rounded_as_torch_rounds_them(run)


def every_fill_gives_the_weights_of_torch(run):
    """The half types within one unit of the last binary place (float32 within two, as it sums in an order of its own);
    zero and NaN exactly; an error where PyTorch raises one."""
    cases = [(widget, name) for widget in FILLS for name in DTYPES]
    inputs = [(name, {n: getattr(widget, n) for n in widget.inputs()}) for widget, name in cases]
    found = run("x.map(([dtype, inputs]) => attempt(dtype, inputs).weights?.map(String))", inputs)
    for (widget, name), (_, traits), texts in zip(cases, inputs, found, strict=True):
        dtype = DTYPES[name]
        want = widget.weights(dtype)
        assert (texts is None) == (want is None), f"{name}, {traits}"
        if want is None:
            continue
        got = torch.tensor([float(text) for text in texts], dtype=torch.float64)
        about = torch.finfo(dtype)
        unit = (about.eps * 2 ** want.double().log2().floor()).clamp(min=about.smallest_normal * about.eps)
        close = (got - want.double()).abs() <= (2 if dtype == torch.float32 else 1) * unit
        same = torch.where((want == 0) | want.isnan(), (got == want) | (got.isnan() & want.isnan()), close)
        assert same.all(), f"{name}, {traits}: the page has {got.tolist()}, torch {want.tolist()}"


def numbers_are_rounded_as_torch_rounds_them(run):
    draw = torch.Generator().manual_seed(1)
    numbers = torch.randn(400, generator=draw) * torch.logspace(-9, 9, 400)
    edges = [65504.0, 65519.0, 65520.0, -65520.0, 6e-8, 2.9e-8, 1.0009765625, 2049.0, 2051.0, 257.0, 0.0]
    numbers = torch.cat([numbers, torch.tensor(edges)]).double()
    formats = {torch.float16: (10, -14, 65504), torch.bfloat16: (7, -126, torch.finfo(torch.bfloat16).max)}
    for dtype, (digits, least, most) in formats.items():
        format = {"digits": digits, "least": least, "most": most}
        texts = run("x[0].map((number) => String(rounded(number, x[1])))", [numbers.tolist(), format])
        got = torch.tensor([float(text.replace("Infinity", "inf")) for text in texts], dtype=torch.float64)
        assert torch.equal(got, numbers.float().to(dtype).double())


def test_table_of_fills():
    assert parsed(FillValue(fill="-1e9")).select("tr")[3].text == "float16" + 5 * "error"
    weights = numbers(FillValue(fill="-10"))
    assert ((weights[:, 3:] > 0) & (weights[:, 3:] < 1e-5)).all()
    assert_close(numbers(FillValue(fill="-1e4", shift=-20_000))[:, 3:], torch.full((3, 2), 0.5))
    assert numbers(FillValue(fill="-inf", hidden="all")).isnan().all()
