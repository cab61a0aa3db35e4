"""What a model keeps of a text, in bytes: with the attention that it has, and with those that it might have."""

from dataclasses import replace

import traitlets

from attnbook.data.models import NamedModel, named_models
from attnbook.language import count, large, whole
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.tables import Verbatim, html_table

MODELS = [
    "Llama 3.1 8B",
    "OLMo 2 7B",
    "Qwen3 8B",
    "Mistral 7B",
    "Gemma 3 27B",
    "OLMo 3 32B",
    "gpt-oss-120b",
    "Llama 4 Scout",
    "DeepSeek-V3",
    "GLM-5",
    "MiniMax-Text-01",
    "Qwen3-Next 80B",
]
KINDS = ["MHA", "GQA", "MQA", "MLA"]
GPU = 80 * 10**9  # bytes of memory
POWERS = [1, 2, 4, 8, 16, 32, 64, 128]


class CacheBudget(BookWidget):
    """A batch of texts of one length, in the memory of as many GPUs as the parameters need, a power of two.

    >>> widget = CacheBudget(model="Llama 3.1 8B", length=131_072)
    >>> {kind: widget.fits(kind) for kind in widget.variants()}
    {'MHA': 0, 'GQA': 3, 'MQA': 29, 'MLA': 13, 'mixed': 22}
    >>> widget.own
    'GQA'

    In `mixed` five of six layers see a window of 1,024, as in Gemma 3; if the model's layers are of several kinds, they
    are what they are. The model "own" has the layers, heads, heads to share one key, and width that one gives it.
    """

    model = traitlets.Enum([*MODELS, "own"], MODELS[0]).tag(sync=True)
    length = traitlets.Int(131_072, min=1, max=2**20).tag(sync=True)
    batch = traitlets.Int(1, min=1, max=64).tag(sync=True)
    bits = traitlets.Enum([16, 8], 16).tag(sync=True)
    layers = traitlets.Enum(POWERS, 32).tag(sync=True)
    heads = traitlets.Enum(POWERS, 32).tag(sync=True)
    share = traitlets.Enum(POWERS[:6], 4).tag(sync=True)
    width = traitlets.Enum([32, 64, 128, 256], 128).tag(sync=True)

    def named(self) -> NamedModel:
        if self.model != "own":
            return named_models()[self.model]
        D = self.heads * self.width
        return NamedModel(
            name="own",
            year=2026,
            cite="",
            sources=(),
            parameters=12 * self.layers * D**2 / 1e9,  # attention 4 D², a network of 8 D²
            active=12 * self.layers * D**2 / 1e9,
            context=2**20,
            layers=self.layers,
            D=D,
            heads=self.heads,
            kv_heads=max(self.heads // self.share, 1),
            d_k=self.width,
            d_v=self.width,
        )

    def variants(self) -> dict[str, NamedModel]:
        model = self.named()
        uniform = replace(model, pattern="G", window=0, state=())
        mixed = model if model.pattern != "G" else replace(model, pattern="WWWWWG", window=1024)
        return {kind: uniform.with_attention(kind) for kind in KINDS} | {"mixed": mixed}

    @property
    def own(self) -> str:
        """Which of them the model is."""
        model = self.named()
        return model.attention if model.pattern == "G" else "mixed"

    def parameters(self) -> int:
        return round(self.named().parameters * 1e9) * self.bits // 8

    def gpus(self) -> int:
        """The first power of two whose memory is more than the parameters."""
        needed = 1
        while needed * GPU <= self.parameters():
            needed *= 2
        return needed

    def bytes(self, kind: str) -> int:
        """Of the cache of one text."""
        return self.variants()[kind].numbers(self.length) * self.bits // 8

    def fits(self, kind: str) -> int:
        """How many texts there is room for beside the parameters."""
        return (self.gpus() * GPU - self.parameters()) // self.bytes(kind)

    def table(self) -> str:
        words = self.edition_words()
        say, sizes = words["table"], words["bytes"]
        caption = say["caption"].format(
            memory=large(self.parameters(), sizes),
            gpus=count(words["gpus"], self.gpus()),
        )
        name = "" if self.model == "own" else f"{self.model}, "
        rows = (
            (
                words["mixed"] if kind == "mixed" else Verbatim(name + kind),
                [
                    *map(whole, (model.per_token, model.count("G"))),
                    large(self.bytes(kind), sizes),
                    whole(self.fits(kind)),
                ],
            )
            for kind, model in self.variants().items()
        )
        columns = [name.format(n=whole(self.length)) for name in words["rows"].values()]
        return html_table(caption, columns, rows)
