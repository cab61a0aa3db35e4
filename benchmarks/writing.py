"""Tokens in a second on a GPU: the published model's steps started kernel by kernel, or replayed; and transformers'."""

import time
from collections.abc import Callable
from contextlib import suppress
from unittest.mock import patch

import torch
from torch import Tensor

from attnbook import LanguageModel, greedy
from attnbook.models import _replay
from attnbook.pretrained import load
from benchmarks.tables import progress, table

TOKENS, PROMPT, BATCHES = 256, 8, [1, 8, 64]
ENOUGH = 1.0  # seconds of one way, after which no other run begins


def one_by_one(model: LanguageModel, prompt: Tensor, length: int) -> Tensor:
    """Each kernel of each step started by Python."""
    with patch.object(_replay, "DEVICES", ()):
        return replayed(model, prompt, length)


def replayed(model: LanguageModel, prompt: Tensor, length: int) -> Tensor:
    return greedy(model, prompt, stop=None, length=length)


def by_transformers(model: LanguageModel) -> Callable[[LanguageModel, Tensor, int], Tensor]:
    """The same weights in Hugging Face's Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    blocks = [model.decoder.get_submodule(str(number)) for number in range(len(model.decoder))]
    attention, feed_forward = blocks[0].self_attention, blocks[0].feed_forward
    N, D = model.tokens.embedding.weight.shape
    config = LlamaConfig(
        vocab_size=N,
        hidden_size=D,
        intermediate_size=feed_forward.gate.out_features,
        num_hidden_layers=len(blocks),
        num_attention_heads=attention.heads,
        num_key_value_heads=attention.kv_heads,
        rms_norm_eps=model.decoder.norm.eps,
        rope_theta=attention.rotary.base,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    names = {
        "self_attention_norm": "input_layernorm",
        "self_attention.query": "self_attn.q_proj",
        "self_attention.key": "self_attn.k_proj",
        "self_attention.value": "self_attn.v_proj",
        "self_attention.output": "self_attn.o_proj",
        "feed_forward_norm": "post_attention_layernorm",
        "feed_forward.gate": "mlp.gate_proj",
        "feed_forward.up": "mlp.up_proj",
        "feed_forward.down": "mlp.down_proj",
    }
    weights = {"model.norm.weight": model.decoder.norm.weight}
    weights |= dict.fromkeys(("model.embed_tokens.weight", "lm_head.weight"), model.tokens.embedding.weight)
    for number, block in enumerate(blocks):
        for ours, name in names.items():
            weight = block.get_submodule(ours).weight
            if ours in ("self_attention.query", "self_attention.key"):
                weight = _halves(weight, attention.rotary.K)
            weights[f"model.layers.{number}.{name}.weight"] = weight
    theirs = LlamaForCausalLM(config).to(weights["lm_head.weight"]).eval()
    theirs.load_state_dict(weights)
    return lambda _, prompt, length: theirs.generate(
        prompt, max_length=length, do_sample=False, attention_mask=torch.ones_like(prompt)
    )


def _halves(weight: Tensor, K: int) -> Tensor:
    """Rows of queries or keys of which rotary positions turn i and i + K/2 together, from those with neighbours."""
    return weight.unflatten(0, (-1, K // 2, 2)).transpose(1, 2).flatten(0, 2)


def tokens_a_second(write: Callable, model: LanguageModel, prompt: Tensor) -> float:
    """The fastest of some runs, after a short one; all of them new tokens."""
    write(model, prompt, PROMPT + 48)
    best, start = float("inf"), time.monotonic()
    while time.monotonic() - start < ENOUGH:
        torch.cuda.synchronize()
        before = time.monotonic()
        write(model, prompt, PROMPT + TOKENS)
        torch.cuda.synchronize()
        best = min(best, time.monotonic() - before)
    return len(prompt) * TOKENS / best


def section() -> str:
    """Empty where the published model is not installed."""
    try:
        model = load()[0].cuda()
    except FileNotFoundError:
        return ""
    generator = torch.Generator().manual_seed(0)
    prompts = [torch.randint(9, 9999, (B, PROMPT), generator=generator).cuda() for B in BATCHES]
    ways = {"`greedy`, kernel by kernel": one_by_one, "`greedy`, a graph replayed": replayed}
    with suppress(ImportError):
        import transformers

        ways[f"transformers {transformers.__version__}"] = by_transformers(model)
    short = [write(model, prompts[1], 40) for write in ways.values()]
    assert all(torch.equal(each, short[0]) for each in short)
    found = []
    for who, write in ways.items():
        speeds = [tokens_a_second(write, model, prompt) for prompt in prompts]
        found.append(progress([who, *(f"{speed:.0f}" for speed in speeds)]))
    return f"""### On a GPU, tokens in a second: {TOKENS} tokens by the published model of chapter 12, float32

Greedily, after a prompt of {PROMPT}; the fastest of the runs that begin within a second. All write the same.

{table(["written by", *(f"B = {B}" for B in BATCHES)], found)}
"""
