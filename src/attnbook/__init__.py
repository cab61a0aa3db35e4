"""The shared code of *Attention You Can Touch*: small, tested, explainable attention in PyTorch.

One dimension key serves the code, the prose, the widgets and the error messages. A tensor's name ends in its axes.

    B batch      L query length   M key/value length   D model width
    H heads      K head width     V value head width   N vocabulary

Everything public is one import away, and nothing is loaded before it is asked for:

>>> from attnbook import attention, causal
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "layers.masks": ["blocked", "causal", "padding", "sliding_window", "valid_lens"],
    "layers.softmax": ["masked_softmax"],
    "layers.sparse": ["top_blocks"],
    "layers.dot_product": ["DotProductAttention", "attention"],
    "layers.additive": ["AdditiveAttention", "additive_scores"],
    "layers.multihead": ["KVCache", "MultiHeadAttention"],
    "layers.latent": ["LatentAttention"],
    "layers.linear": ["LinearAttention", "RunningState", "linear_attention", "scan"],
    "layers.positions": ["ALiBi", "LearnedPositions", "RelativeBias", "Rotary", "SinusoidalPositions", "sinusoidal"],
    "layers.scaling": ["NTKAware", "PositionInterpolation", "YaRN"],
    "layers.capture": ["capture_attention"],
    "models.transformer": [
        "DecoderBlock",
        "EncoderBlock",
        "FeedForward",
        "LanguageModel",
        "State",
        "SwiGLU",
        "TextEncoder",
        "Tokens",
        "Transformer",
    ],
    "models.experts": ["MixtureOfExperts", "Routing", "capture_routing"],
    "models.seq2seq": ["Seq2Seq"],
    "models.decoding": ["beam", "filtered", "greedy", "sample"],
    "learning.text": ["Vocabulary"],
    "learning.bytepairs": ["BytePairs"],
    "learning.vectors": ["SkipGram", "WordVectors", "learn_vectors", "read_vectors", "skip_gram_pairs"],
    "learning.training": ["History", "fit"],
    "learning.complexity": ["Convolution", "Cost", "Recurrence", "SelfAttention"],
    "diagnosis": ["diagnose"],
    "telling": ["about", "says"],
    "device": ["pick_device", "seed_everything"],
    "errors": ["FileError", "ShapeError"],
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}
_MODULES = {"check": "checks", "peers": "peers", "plots": "plots", "pretrained": "pretrained", "widgets": "widgets"}

__all__ = sorted([*_HOME, *_MODULES])  # noqa: PLE0605 (a list, as it should be)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"attnbook.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"attnbook.{_MODULES[name]}")
    from attnbook.errors import meant

    raise AttributeError(f"attnbook has no {name!r}. {meant(name, __all__)}It has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return __all__
