"""Published models: what they keep of a text is counted in layers of ours of the same kinds, only narrower."""

from dataclasses import replace

import pytest
import torch

from attnbook import LatentAttention, LinearAttention, MultiHeadAttention, Rotary
from attnbook.data.models import NamedModel, named_models
from booktools.book.references import References
from tests import ROOT

MODELS = named_models()
each_model = pytest.mark.parametrize("name", MODELS)
LENGTHS = [1, 2, 4, 5, 6, 11]


def narrow(model: NamedModel) -> NamedModel:
    """The same kinds of layers in the same order, with every width divided, and a short window."""
    state = tuple(tuple(size // 16 if size >= 16 else size for size in shape) for shape in model.state)
    return replace(
        model,
        layers=len(model.pattern) + 1,
        D=12,
        d_k=model.d_k // 16,
        d_v=model.d_v // 16,
        latent=model.latent // 16,
        turned=model.turned // 16,
        index=0,  # its keys are a layer's beside the attention
        window=model.window and 5,
        state=state,
    )


def layer_of(model: NamedModel, kind: str) -> LinearAttention | LatentAttention | MultiHeadAttention:
    widths = {"d_k": model.d_k, "d_v": model.d_v}
    if kind == "S":
        (*heads, keys, values), *mixed = model.state if len(model.state[0]) > 1 else (model.state,)
        channels, taps = mixed[0] if mixed else (12, 0)
        return LinearAttention(channels, *heads or (1,), d_k=keys, d_v=values, delta=True, convolution=taps + 1)
    if model.latent:
        return LatentAttention(model.D, model.heads, latent=model.latent, rotary=Rotary(model.turned), **widths)
    window = {"window": model.window} if kind == "W" else {}
    return MultiHeadAttention(model.D, model.heads, kv_heads=model.kv_heads, **widths, **window)


def held(model: NamedModel, kind: str, length: int) -> int:
    """Numbers in a real cache while the last token is computed: those before it are kept, its own come to them."""
    layer = layer_of(model, kind)
    width = layer.query.in_features
    caches = [layer.new_cache() for _ in range(2)]
    for cache, tokens in zip(caches, (length - 1, 1), strict=True):
        for _ in range(tokens):
            layer(torch.zeros(1, 1, width), cache=cache)
    before, own = (cache.nbytes // 4 for cache in caches)
    return own if kind == "S" else before + own


@each_model
@torch.no_grad()
def test_what_a_model_keeps_is_what_layers_of_its_kinds_keep(name):
    model = narrow(MODELS[name])
    for length in LENGTHS:
        by_kind = {kind: held(model, kind, length) for kind in set(model.kinds)}
        assert model.numbers(length) == sum(by_kind[kind] for kind in model.kinds)


@each_model
def test_another_attention_is_counted_in_its_layers_too(name):
    model = narrow(MODELS[name])
    for kind in ("MHA", "GQA", "MQA", "MLA"):
        other = model.with_attention(kind)
        with torch.no_grad():
            assert other.per_token == held(other, "G", 1)
        assert other.attention == kind
    assert model.with_attention(model.attention) == model


def test_heads_that_eight_does_not_divide_share_one():
    assert replace(MODELS["Llama 3.1 8B"], heads=12, kv_heads=12).with_attention("GQA").kv_heads == 1


def test_figures_that_reports_print():
    gigabytes = {name: model.cache_bytes(model.context) / 1e9 for name, model in MODELS.items()}
    assert round(gigabytes["Jamba v0.1"]) == 4  # its report, 16 bits at 256K
    assert round(gigabytes["Llama 3.1 8B"] * 1e9 / 2**30) == 16  # GiB
    mistral = MODELS["Mistral 7B"]  # a cache an eighth as large at 32k
    assert 8 * mistral.numbers(32_768) == replace(mistral, pattern="G").numbers(32_768)
    assert MODELS["DeepSeek-V3"].per_token == 4.5 * 128  # of latent attention's own report: 9/2 of a head's width
    assert MODELS["DeepSeek-V3.2-Exp"].per_token == MODELS["DeepSeek-V3"].per_token + 128  # the indexer's key


@pytest.mark.slow
@each_model
def test_every_model_has_its_sources(name):
    model = MODELS[name]
    assert all(source.startswith("https://") for source in model.sources)
    assert 2023 <= model.year <= 2026
    assert model.active <= model.parameters
    assert model.heads % model.kv_heads == 0
    assert bool(model.window) == ("W" in model.pattern)
    assert bool(model.state) == bool(model.recurrence) == ("S" in model.pattern)
    References.read([ROOT / "references.bib"]).entry(model.cite)
