"""Published language models, as far as their attention goes: what each of them keeps of a text."""

import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from typing import Any

from attnbook.data import FOLDER


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A model as its makers describe it; what no source says is None.

    >>> model = named_models()["Gemma 3 27B"]
    >>> model.kinds[:6], model.count("G"), model.count("W")
    ('WWWWWG', 10, 52)
    >>> model.per_token, model.cache_bytes(131_072) / 1e9
    (4096, 11.173625856)

    parameters, active   billions, in all and for one token
    context              the longest text that its makers speak of, in tokens
    heads, kv_heads      of queries, and of keys and values; d_k, d_v: width of one head's keys and of its values
    latent, turned       of latent attention: width of what keys and values are unpacked from, and of the one key that
                         turns with its position
    pattern              kinds of its layers, repeated: (G)lobal attention, attention in a (W)indow, a (S)tate
    window, chunked      tokens that a windowed layer sees; or those since the last multiple of that number
    state, recurrence    shapes of what a layer with a state keeps, however long the text; what such a layer is called
    index, selected      of sparse selection: width of the key by which the tokens to read are chosen, and their number
    placed               of four layers with attention in a row, how many know positions (4: all)
    base, local_base     of rotary positions; in windowed layers, where it differs
    scaling, factor, original   how positions were stretched, how far, and from which length
    gated                whether a token opens and closes what its heads found
    experts, chosen, shared     in a layer, for a token by a router, and for every token
    sources, cite        where the numbers were read; the entry of the bibliography
    """

    name: str
    year: int
    cite: str
    sources: tuple[str, ...]
    license: str | None = None
    parameters: float
    active: float
    context: int
    layers: int
    D: int
    heads: int
    kv_heads: int
    d_k: int
    d_v: int
    pattern: str = "G"
    window: int = 0
    chunked: bool = False
    latent: int = 0
    turned: int = 0
    index: int = 0
    selected: int = 0
    state: tuple[tuple[int, ...], ...] = field(default=())
    recurrence: str | None = None
    learned_sink: bool = False
    softcap: float = 0
    qk_norm: bool | None = None
    gated: bool = False
    placed: int = 4
    base: int | None = None
    local_base: int | None = None
    scaling: str | None = None
    factor: float | None = None
    original: int | None = None
    experts: int = 0
    chosen: int = 0
    shared: int = 0

    @property
    def kinds(self) -> str:
        """The kind of each layer, the lowest first."""
        return (self.pattern * self.layers)[: self.layers]

    def count(self, kind: str) -> int:
        """How many layers are of a kind."""
        return self.kinds.count(kind)

    @property
    def attention(self) -> str:
        """Multi-head, grouped-query, multi-query or latent: MHA, GQA, MQA or MLA."""
        if self.latent:
            return "MLA"
        return {self.heads: "MHA", 1: "MQA"}.get(self.kv_heads, "GQA")

    @property
    def per_token(self) -> int:
        """Numbers that one layer with attention keeps of one token."""
        kept = self.latent + self.turned if self.latent else self.kv_heads * (self.d_k + self.d_v)
        return kept + self.index

    @property
    def per_state(self) -> int:
        """Numbers that one layer with a state keeps of any text."""
        return sum(map(prod, self.state))

    def numbers(self, length: int) -> int:
        """What all layers hold while the last of `length` tokens is computed, its own keys and values included.

        >>> named_models()["DeepSeek-V3"].numbers(1)  # 61 layers of 512 + 64
        35136
        """
        seen = min(length, self.window)
        in_all = {"G": length * self.per_token, "W": seen * self.per_token, "S": self.per_state}
        return sum(in_all[kind] for kind in self.kinds)

    def cache_bytes(self, length: int, bytes_per_number: float = 2) -> float:
        """The cache of one text.

        >>> named_models()["Llama 3.1 8B"].cache_bytes(8192) / 2**30  # GiB
        1.0
        """
        return self.numbers(length) * bytes_per_number

    def with_attention(self, kind: str) -> "NamedModel":
        """The same model with another attention (MHA, GQA, MQA or MLA) in the layers that have one.

        Where it has no groups of its own there are 8 heads of keys and values, or one, if that does not divide its
        heads; the widths of a latent attention that is not its own are DeepSeek-V2's: 4 d_k and d_k / 2.

        >>> model = named_models()["Llama 3.1 8B"]
        >>> {kind: model.with_attention(kind).per_token for kind in ("MHA", "GQA", "MQA", "MLA")}
        {'MHA': 8192, 'GQA': 2048, 'MQA': 256, 'MLA': 576}
        """
        if kind == self.attention:
            return self
        if kind == "MLA":
            return replace(self, latent=4 * self.d_k, turned=self.d_k // 2)
        groups = {"MHA": self.heads, "GQA": 1 if self.heads % 8 else 8, "MQA": 1}
        return replace(self, latent=0, turned=0, index=0, selected=0, kv_heads=groups[kind])


@cache
def named_models() -> dict[str, NamedModel]:
    """Published models by their names, the oldest first.

    >>> [name for name, model in named_models().items() if model.attention == "MLA"]
    ['DeepSeek-V3', 'Kimi K2', 'DeepSeek-V3.2-Exp', 'GLM-5']
    """
    entries = tomllib.loads((FOLDER / "models.toml").read_text("utf-8"))["model"]
    return {entry["name"]: _read(entry) for entry in entries}


def _read(entry: dict[str, Any]) -> NamedModel:
    same = {"active": entry["parameters"], "d_v": entry["d_k"]}
    shapes = tuple(map(tuple, entry.get("state", ())))
    return NamedModel(**same | entry | {"sources": tuple(entry["sources"]), "state": shapes})
