"""Families of models as data: what each weight is called in their files and here, and what `LanguageModel` is told."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from attnbook.layers.positions import LearnedPositions, Rotary
from attnbook.models.transformer import LanguageModel, SwiGLU
from attnbook.pretrained.model_file import ModelFile


class Weight(NamedTuple):
    """A weight's name in the file, its name here and its shape in the file.

    Several names here divide its rows among them. A file that stores x W, not x Wᵀ, has it `turned`.
    """

    theirs: str
    ours: tuple[str, ...]
    shape: tuple[int, ...]
    turned: bool = False


class Family(NamedTuple):
    """Every weight of a model, and what makes the model once they are all there."""

    weights: Iterator[Weight]
    build: Callable[[], LanguageModel]
    left: Callable[[str], bool] = lambda name: False  # whether the model has no need of the weight of this name


def llama(file: ModelFile, N: int) -> Family:
    """Llama's, in a GGUF file: rotary positions, RMSNorm, SwiGLU, shared key heads, no biases."""
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

    def weights() -> Iterator[Weight]:
        yield Weight("token_embd.weight", ("tokens.embedding.weight",), (N, D))
        for n in range(layers):
            for theirs, ours, shape in (
                ("attn_norm", "self_attention_norm", (D,)),
                ("attn_q", "self_attention.query", (heads * K, D)),
                ("attn_k", "self_attention.key", (kv_heads * K, D)),
                ("attn_v", "self_attention.value", (kv_heads * K, D)),
                ("attn_output", "self_attention.output", (D, heads * K)),
                ("ffn_norm", "feed_forward_norm", (D,)),
                ("ffn_gate", "feed_forward.gate", (hidden, D)),
                ("ffn_up", "feed_forward.up", (hidden, D)),
                ("ffn_down", "feed_forward.down", (D, hidden)),
            ):
                yield Weight(f"blk.{n}.{theirs}.weight", (f"decoder.{n}.{ours}.weight",), shape)
        yield Weight("output_norm.weight", ("decoder.norm.weight",), (D,))

    def build() -> LanguageModel:
        positions = Rotary(K, pairing="neighbours", base=base)
        parts = {"norm_layer": partial(nn.RMSNorm, eps=eps), "feed_forward": SwiGLU, "kv_heads": kv_heads}
        return LanguageModel(N, D, heads, hidden, layers, 0.0, positions=positions, bias=False, **PLAIN, **parts)

    return Family(weights(), build)


def gpt2(file: ModelFile, N: int) -> Family:
    """GPT-2's, in a safetensors file: learned positions, LayerNorm, GELU, biases, one matrix for q, k and v."""
    if (scores := file.fact("vocab_size", int, N)) != N:
        raise ValueError(f"it has scores for {scores:,} tokens, and its tokenizer.json lists {N:,}")
    for option, known in GPT2_OPTIONS.items():
        if file.fact(option, bool, known) != known:
            raise ValueError(f"{option} is {not known}, which is not known here")
    if (named := file.fact("activation_function", str, "gelu_new")) not in ACTIVATIONS:
        raise ValueError(f"its activation is {named!r}; what is known here is {', '.join(ACTIVATIONS)}")
    D, heads, layers = (file.fact(name, int) for name in ("n_embd", "n_head", "n_layer"))
    length, hidden = file.fact("n_positions", int), file.fact("n_inner", int, 4 * D)
    if not 0 <= (eps := file.fact("layer_norm_epsilon", float, 1e-5)) < 1:
        raise ValueError(f"layer_norm_epsilon should be from 0 to 1, and is {eps}")
    first = "transformer." if "transformer.wte.weight" in file.weights else ""

    def weights() -> Iterator[Weight]:
        yield Weight(f"{first}wte.weight", ("tokens.embedding.weight",), (N, D))
        yield Weight(f"{first}wpe.weight", ("tokens.positions.table",), (length, D))
        for n in range(layers):
            for theirs, ours, inputs, outputs in (
                ("ln_1", ("self_attention_norm",), 0, D),
                ("attn.c_attn", ("self_attention.query", "self_attention.key", "self_attention.value"), D, 3 * D),
                ("attn.c_proj", ("self_attention.output",), D, D),
                ("ln_2", ("feed_forward_norm",), 0, D),
                ("mlp.c_fc", ("feed_forward.0",), D, hidden),
                ("mlp.c_proj", ("feed_forward.3",), hidden, D),
            ):
                for part, shape in (("weight", (inputs, outputs) if inputs else (outputs,)), ("bias", (outputs,))):
                    names = tuple(f"decoder.{n}.{name}.{part}" for name in ours)
                    yield Weight(f"{first}h.{n}.{theirs}.{part}", names, shape, turned=len(shape) == 2)
        for part in ("weight", "bias"):
            yield Weight(f"{first}ln_f.{part}", (f"decoder.norm.{part}",), (D,))

    def build() -> LanguageModel:
        positions, activation = LearnedPositions(length, D), ACTIVATIONS[named]
        parts = {"norm_layer": partial(nn.LayerNorm, eps=eps), "activation": activation}
        return LanguageModel(N, D, heads, hidden, layers, 0.0, positions=positions, **PLAIN, **parts)

    def left(name: str) -> bool:
        """Older files hold each block's causal mask, and what it writes there; and the embeddings a second time."""
        table, head = (file.weights.get(each) for each in (f"{first}wte.weight", name))
        again = name == "lm_head.weight" and table and head and torch.equal(table.data, head.data)
        return bool(again) or name.endswith((".attn.bias", ".attn.masked_bias"))

    return Family(weights(), build, left)


PLAIN = {"scale_embeddings": False, "norm": "pre"}
GPT2_OPTIONS = {
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
ACTIVATIONS = {"gelu_new": partial(nn.GELU, approximate="tanh"), "gelu": nn.GELU, "relu": nn.ReLU}
