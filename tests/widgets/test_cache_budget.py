"""CacheBudget: what it shows and what tensors of these sizes weigh, how it is worked, what is known of it besides."""

import torch
from torch import Tensor

from attnbook.data.models import NamedModel, named_models
from attnbook.language import large
from attnbook.widgets import CacheBudget
from attnbook.widgets.cache_budget import MODELS
from tests.widgets.laws import Laws
from tests.widgets.reading import codes, parsed
from tests.widgets.steps import choose, slide

READ = """(node) => {
    const all = (selector) => [...node.querySelectorAll(selector)];
    const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
    const shares = (name) => all(".ab-vessel").map((vessel) => vessel.style.getPropertyValue(`--${name}`));
    return {
        numbers: all(".ab-number").map((cell) => cell.textContent),
        shares: ["p", "t", "n", "f"].map(shares),
        again: codes(all(".ab-more thead span").map((title) => title.textContent)),
        built: all(".ab-pin thead th").map((head) => String(Number(head.matches(".ab-built")))),
        full: all(".ab-row-3 td").map((cell) => String(Number(cell.matches(".ab-full")))),
        titles: codes(all(".ab-pin thead span").map((title) => title.textContent)),
        said: codes(all(".ab-said, .ab-row-2 th, .ab-beyond").map((part) => part.textContent)),
        own: String(all(".ab-control input[type=range]").filter((slider) => slider.checkVisibility()).length),
    };
}"""


def kept(model: NamedModel, kind: str, length: int, dtype: torch.dtype) -> int:
    """Bytes of one layer of a kind, by tensors that take no room."""

    def weigh(*shapes: tuple[int, ...]) -> int:
        return sum(torch.empty(shape, dtype=dtype, device="meta").nbytes for shape in shapes)

    if kind == "S":
        return weigh(*model.state)
    seen = min(length, model.window) if kind == "W" else length
    if model.latent:
        return weigh((seen, model.latent), (seen, model.turned), (seen, model.index))
    return weigh((model.kv_heads, seen, model.d_k), (model.kv_heads, seen, model.d_v))


def expected(widget) -> dict[str, Tensor]:
    words, model = widget.edition_words(), widget.named()
    dtype = {16: torch.bfloat16, 8: torch.float8_e4m3fn}[widget.bits]
    parameters = int(model.parameters * 1e9 * dtype.itemsize)
    gpus = next(2**i for i in range(20) if 2**i * 80e9 > parameters)
    numbers, texts = [[], [], [], []], []
    for variant in widget.variants().values():
        text = sum(kept(variant, kind, widget.length, dtype) for kind in variant.kinds)
        row = [variant.per_token, variant.kinds.count("G"), text, (gpus * 80 * 10**9 - parameters) // text]
        for column, x in zip(numbers, row, strict=True):
            column.append(x)
        texts.append(text)
    word = words["states" if "S" in model.pattern else "mixed"]
    place = ["MHA", "GQA", "MQA", "MLA"].index(model.attention) if model.pattern == "G" else 4
    name = words["own"] if widget.model == "own" else widget.model
    memory, fits = gpus * 80e9, torch.tensor(numbers[3])
    size = large(parameters, words["bytes"])
    many = words["gpus"]["one" if gpus == 1 else "other"].format(n=gpus)
    beyond = words["beyond"].format(n=f"{model.context:,}") if widget.length > model.context else ""
    cache = words["rows"]["cache"].format(n=f"{widget.length:,}")
    return {
        "numbers": torch.tensor([numbers[i] for i in (2, 3, 0, 1)]),  # what a layer keeps is folded away
        "shares": torch.tensor(
            [[parameters / memory] * 5, [text / memory for text in texts], [widget.batch] * 5, numbers[3]],
            dtype=torch.float64,
        ),
        "built": torch.arange(5) == place,
        "full": fits < widget.batch,
        "titles": codes("MHA", "GQA", "MQA", "MLA", word),
        "again": codes("MHA", "GQA", "MQA", "MLA", word),
        "said": codes(words["head"].format(name=name, params=size, gpus=many), cache, beyond),
        "own": torch.tensor(6 if widget.model == "own" else 2),
    }


class TestCacheBudget(Laws):
    kind = CacheBudget
    read = READ
    expected = staticmethod(expected)
    steps = [
        *slide("Tokens", "length", first=128, last=2**20),
        *choose("model", "DeepSeek-V3"),
        *slide("Texts at once", "batch", last=64),
        *choose("bits", 8),
        *choose("model", "own"),
        *slide("Layers", "layers", first=1, last=128),
        *slide("Query heads", "heads", last=128),
        *slide("to one key", "share", last=32),
        *slide("Head width", "width", last=256, first=32),
    ]
    changes = [
        {"model": "MiniMax-Text-01"},
        {"length": 4096},
        {"batch": 3},
        {"bits": 8},
        {"model": "own"},
        {"heads": 4},
    ]
    states = {
        **{name: CacheBudget(model=name, length=200_000, batch=2) for name in MODELS[1:]},
        "one head": CacheBudget(model="own", heads=1, share=4),
        "more heads to a key than there are": CacheBudget(model="own", heads=2, share=32, layers=1),
        "one token": CacheBudget(length=1),
    }
    errors = [(lambda: CacheBudget(model="GPT-9"), r"'model' trait .* any of \['Llama 3.1 8B', ")]


def test_it_offers_only_models_that_are_known():
    assert set(MODELS) <= named_models().keys()


def test_table_of_variants():
    page = parsed(CacheBudget())
    assert page.caption.text == "16.0 GB of parameters in 1 GPU of 80 GB"
    assert page.select("th[scope=row]")[1].text == "Llama 3.1 8B, GQA"
    assert [cell.text for cell in page.select("td")[1:5]] == ["8,192", "32", "68.7 GB", "0"]
