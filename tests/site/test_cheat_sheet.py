"""The cheat sheet: what it says is what the package, PyTorch and d2l do, and printed it is one page of A4."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import arange, nn
from torch.utils.flop_counter import FlopCounterMode

from attnbook import (
    ALiBi,
    Convolution,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    KVCache,
    LanguageModel,
    MultiHeadAttention,
    Recurrence,
    SelfAttention,
    SwiGLU,
    Transformer,
    attention,
    capture_attention,
    causal,
    peers,
)
from tests import ROOT

PAGE = "cheat_sheet.html"
TEXT = (ROOT / "cheat_sheet.md").read_text("utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in TEXT.split("\n## ")}
D, H, FFN, N, G = 12, 3, 20, 50, 1
SIZES = {"D": D, "F": FFN, "N": N, "G": G, "K": D // H, "H": H}


def row(section: str, start: str) -> list[str]:
    """The cells of the row of that name, or of the one that starts so, behind the first."""
    lines = re.findall(r"^\| (.*) \|$", SECTIONS[section].replace("**", ""), re.MULTILINE)
    rows = {name: cells for name, *cells in (re.split(r" *\| *", line) for line in lines)}
    return rows.get(start) or next(cells for name, cells in rows.items() if name.startswith(start))


def formulas(cell: str) -> list[str]:
    return re.findall(r"\$(.+?)\$", cell)


def value(tex: str, **sizes: int) -> int:
    """What a formula of one-letter sizes comes to.

    >>> value("2DF + D^2", D=3, F=4)
    33
    """
    factors = re.sub(r"\s|\\cdot", "", tex)
    factors = re.sub(r"(?<=[\w)])(?=[A-Za-z(])", "*", factors).replace("^", "**")
    return eval(factors, dict(sizes))


def numbers(layer: nn.Module) -> int:
    return sum(parameter.numel() for parameter in layer.parameters())


# ---- parameters ----


@pytest.mark.parametrize(
    ("start", "layer"),
    [
        ("attention", MultiHeadAttention(D, H, bias=True)),
        ("attention, $G$", MultiHeadAttention(D, H, kv_heads=G)),
        ("feed-forward, $F$", FeedForward(D, FFN)),
        ("SwiGLU", SwiGLU(D, FFN)),
        ("embeddings", nn.Embedding(N, D)),
        ("encoder block", EncoderBlock(D, H, FFN)),
        ("decoder block", DecoderBlock(D, H, FFN)),
    ],
)
def test_parameters_are_those_of_the_layers(start, layer):
    assert value(formulas(row("Parameters", start)[0])[0], **SIZES) == numbers(layer)


def test_norms_embeddings_and_the_whole():
    layer_norm, rms_norm = formulas(row("Parameters", "LayerNorm; RMSNorm")[0])
    assert [value(layer_norm, D=D), value(rms_norm, D=D)] == [numbers(nn.LayerNorm(D)), numbers(nn.RMSNorm(D))]
    assert row("Parameters", "the paper's base model")[0] == f"{numbers(Transformer(37_000)):,}"
    tied, block = LanguageModel(N, D, H, FFN, 2), formulas(row("Parameters", "encoder block")[0])[0]
    assert numbers(tied) == value("ND", N=N, D=D) + 2 * value(block, **SIZES)


@pytest.mark.parametrize(("start", "times"), [("encoder block", 12), ("decoder block", 16)])
def test_blocks_of_a_wide_model_are_about_so_large(start, times):
    exact, about = formulas(row("Parameters", start)[0])[0], formulas(row("Parameters", start)[0])[-1]
    assert about == f"{times}D^2"
    assert value(exact, D=4096, F=4 * 4096) / value(about, D=4096) == pytest.approx(1, abs=2e-3)


# ---- costs ----


@pytest.mark.parametrize("n", [7, 30])
def test_costs_are_those_that_are_counted(n):
    d, k = 8, 3
    sizes = {"n": n, "d": d, "k": k}
    look, whole = SelfAttention(heads=H).cost(n, d), row("Costs", "self-attention")
    assert [value(formulas(whole[0])[0], **sizes), *map(int, whole[1:])] == [look.operations, look.steps, look.path]
    for cell, told in zip(("rnn", "lstm"), formulas(row("Costs", "recurrence")[0]), strict=True):
        cost = Recurrence(cell).cost(n, d)
        assert [value(told, **sizes), value("n", **sizes), value("n - 1", **sizes)] == [cost[0], cost.steps, cost.path]
    operations, steps, path = row("Costs", "convolution")
    cost = Convolution(k).cost(n, d)
    assert [value(formulas(operations)[0], **sizes), int(steps)] == [cost.operations, cost.steps]
    numerator, denominator = formulas(path)[0].split("/")
    assert -(-value(numerator, **sizes) // value(denominator, **sizes)) == cost.path
    assert "from $n = 2d$ on" in TEXT
    assert value("4n^2d", n=2 * d, d=d) == value("8nd^2", n=2 * d, d=d)
    assert look.memory - 5 * n * d == value("Hn^2", H=H, n=n)


def test_a_language_models_operations():
    """Of its matrices, that is: additions of biases and norms are not counted."""
    layers, n = 2, 16
    model = LanguageModel(N, D, H, FFN, layers, 0.0, bias=False)
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.ndim == 2)
    state, ids = model.start(), torch.arange(n + 1)[None]
    with capture_attention(model), FlopCounterMode(display=False) as forward:  # a fused kernel is not counted
        model.step(ids[:, :n], state)
    with capture_attention(model), FlopCounterMode(display=False) as one:
        model.step(ids[:, n:], state)
    keys = n + 1  # the token sees itself, too
    told = formulas(row("Costs", "forward, one token that sees")[0])
    assert told == [r"2P + 4nD \cdot \text{layers}", "2nD", "2nD"]
    assert one.get_total_flops() == 2 * matrices + layers * value("4nD", n=keys, D=D)
    with capture_attention(model), FlopCounterMode(display=False) as training:
        model(ids[:, :n]).sum().backward()
    assert row("Costs", "training") == ["three times as many"]
    assert training.get_total_flops() == pytest.approx(3 * forward.get_total_flops(), rel=0.03)


def test_the_cache_takes_so_many_bytes():
    layers, tokens = 2, 5
    layer, caches = MultiHeadAttention(D, H, kv_heads=G), [KVCache() for _ in range(layers)]
    for cache in caches:
        layer(torch.randn(1, tokens, D), mask=causal(tokens), cache=cache)
    assert sum(cache.nbytes for cache in caches) == tokens * bytes_a_token(layers, G, D // H, 4)
    assert formulas(row("Costs", "KV cache")[0]) == [r"2 \cdot \text{layers} \cdot G \cdot K \cdot \text{bytes}"]
    a_token = bytes_a_token(32, 8, 128, 2)  # Llama 3.1 8B: chapter 10 has its sizes
    assert row("Costs", "Llama 3.1 8B")[0] == f"{a_token:,} bytes per token; 8,192 tokens {8192 * a_token / 1e9:.2f} GB"


def bytes_a_token(layers: int, kv_heads: int, width: int, size: int) -> int:
    return 2 * layers * kv_heads * width * size


# ---- masks: what the sheet says is what is run ----

L, K = 5, 4
LENGTHS = torch.tensor([5, 3])
REAL = arange(L) < LENGTHS[:, None]
Q_BHLK = torch.randn(2, H, L, K, generator=torch.Generator().manual_seed(0))
HERE = {"L": L, "M": L, "causal": causal, "real": REAL, "arange": arange}


def code(cell: str):
    """What the code of a cell gives, run as it stands there."""
    return eval(re.findall(r"`(.+?)`", cell)[0], dict(HERE))


def wanted(mask_BLM):
    return attention(Q_BHLK, Q_BHLK, Q_BHLK, mask_BLM[:, None])[0]


MASKS = {"causal": causal(L).expand(2, L, L), "padding": REAL[:, None].expand(2, L, L)}


@pytest.mark.parametrize(("kind", "column"), [("causal", 1), ("padding", 2)])
def test_masks_mean_what_the_sheet_says(kind, column):
    want, B = wanted(MASKS[kind]), 2
    ours = code(row("Masks by library", "this book")[column])
    torch.testing.assert_close(wanted(ours.expand(B, L, L)), want)

    fused = row("Masks by library", "PyTorch `F.scaled")[column]
    given = {"is_causal": True} if "is_causal" in fused else {"attn_mask": code(fused)}
    torch.testing.assert_close(F.scaled_dot_product_attention(Q_BHLK, Q_BHLK, Q_BHLK, **given), want)

    whole = nn.MultiheadAttention(H * K, H, batch_first=True, bias=False)
    with torch.no_grad():  # matrices that change nothing: the heads are seen as they are
        whole.in_proj_weight.copy_(torch.eye(H * K).repeat(3, 1))
        whole.out_proj.weight.copy_(torch.eye(H * K))
    x = Q_BHLK.transpose(1, 2).flatten(2)
    name = "attn_mask" if kind == "causal" else "key_padding_mask"
    got, _ = whole(x, x, x, **{name: code(row("Masks by library", "PyTorch `nn.")[column])})
    torch.testing.assert_close(got.unflatten(-1, (H, K)).transpose(1, 2), want)

    lens = code(row("Masks by library", "d2l")[column])
    lens = lens.repeat(B, 1) if kind == "causal" else lens
    theirs = peers.d2l().DotProductAttention(dropout=0)
    one_head = attention(Q_BHLK[:, 0], Q_BHLK[:, 0], Q_BHLK[:, 0], MASKS[kind])[0]
    torch.testing.assert_close(theirs(Q_BHLK[:, 0], Q_BHLK[:, 0], Q_BHLK[:, 0], lens), one_head)


@pytest.mark.parametrize(("start", "sense"), [("PyTorch `F.", False), ("PyTorch `nn.", True)])
def test_a_mask_of_floats_is_added(start, sense):
    """And a true one means what the sheet says."""
    assert ("may not" in row("Masks by library", start)[0]) is sense
    assert "floats are added" in row("Masks by library", start)[0]
    added = torch.zeros(L, L).masked_fill(~causal(L), -torch.inf)
    torch.testing.assert_close(
        F.scaled_dot_product_attention(Q_BHLK, Q_BHLK, Q_BHLK, attn_mask=added), wanted(MASKS["causal"])
    )
    layer, x = nn.MultiheadAttention(K, 1, batch_first=True), Q_BHLK[:, 0]
    torch.testing.assert_close(layer(x, x, x, attn_mask=added)[0], layer(x, x, x, attn_mask=~causal(L))[0])


def test_pytorchs_causal_mask_is_counted_from_the_first_key():
    one = Q_BHLK[:, :, -1:]
    first = F.scaled_dot_product_attention(one, Q_BHLK, Q_BHLK, is_causal=True)
    torch.testing.assert_close(first, Q_BHLK[:, :, :1])


def test_huggings_faces_mask_has_a_number_for_each_token():
    assert code(row("Masks by library", "Hugging Face")[2]).tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]


def test_alibi_has_the_slopes_of_the_sheet():
    assert "$m_h = 2^{-8h/H}$ for $h = 1, \\dots, H$" in TEXT
    torch.testing.assert_close(ALiBi(8).slopes, torch.tensor([2 ** (-8 * h / 8) for h in range(1, 9)]))


def test_minus_a_million_is_minus_infinity_in_half_precision():
    assert "$-10^6$ is $-\\infty$ there" in TEXT
    assert torch.tensor(-1e6).half() == -torch.inf


# ---- on paper ----

SMALL = """() => [...document.querySelectorAll("article *")].filter((node) => !node.closest(".katex *")
    && node.checkVisibility() && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())
    && parseFloat(getComputedStyle(node).fontSize) < 10).map((node) => node.textContent)"""  # 10 px are 7.5 pt
CUT = """() => [...document.querySelectorAll("article *")].filter((node) => node.checkVisibility()
    && node.getBoundingClientRect().right > innerWidth + 1 && !node.closest(".katex-mathml") && node.textContent.trim())
    .map((node) => node.textContent.slice(0, 40))"""
PAPER = {"width": 726, "height": 1062}  # A4 without its margins, in CSS pixels


@pytest.mark.slow
def test_printed_it_is_one_page(visit):
    page = visit(PAGE, theme="dark")
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    assert not page.evaluate(SMALL)
    assert not page.evaluate(CUT)
    height = page.evaluate("document.querySelector('article').getBoundingClientRect().bottom")
    assert 0.8 * PAPER["height"] <= height <= PAPER["height"], "it fills the sheet, and no more"
