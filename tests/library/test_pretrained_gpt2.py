"""A model of GPT-2's family, from the files that others write, is what torch's own layers make of the same weights."""

import json
import random
import re
import struct

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attnbook import FileError, capture_attention, change_attention, diagnose, greedy, sample
from attnbook.data import shakespeare
from attnbook.layers.masks import causal
from attnbook.pretrained import load
from attnbook.pretrained.safetensors import read_safetensors
from attnbook.widgets import HeadBrowser

# Sizes that differ, as far as they may: 3 heads of 8, and so on. Eps is such that it counts.
N, D, HEADS, HIDDEN, LAYERS, LONGEST, EPS = 270, 24, 3, 40, 2, 32, 0.0625
END = N - 1
TEXT = "the hen, and then another in the barn<end>"


def tiny_config():
    return {
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "layer_norm_epsilon": EPS,
        "n_embd": D,
        "n_head": HEADS,
        "n_inner": HIDDEN,
        "n_layer": LAYERS,
        "n_positions": LONGEST,
        "pad_token_id": None,
        "scale_attn_weights": True,
        "vocab_size": N,
    }


def tiny_tokenizer():
    """Tokens of a model: 256 bytes, 13 merges, and a special, which comes last, as in GPT-2's list."""
    same = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    letters = [chr(b) if b in same else chr(next(others)) for b in range(256)]
    merges = ["t h", "th e", "Ġ the", "h e", "Ġ Ġ", "1 9", "i n", "Ġ a", "e r", "a n", "Ġa n", "o n", "r e"]
    tokens = [*letters, *(merge.replace(" ", "") for merge in merges), "<end>"]
    return {
        "added_tokens": [{"id": len(tokens) - 1, "content": "<end>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges},
    }


def tiny_weights():
    """By GPT-2's names: matrices (in, out), queries, keys and values side by side."""
    generator = np.random.default_rng(7)
    shapes = {"wte.weight": (N, D), "wpe.weight": (LONGEST, D), "ln_f.weight": (D,), "ln_f.bias": (D,)}
    for n in range(LAYERS):
        block = {"ln_1": (D,), "ln_2": (D,), "attn.c_attn": (D, 3 * D), "attn.c_proj": (D, D)}
        block |= {"mlp.c_fc": (D, HIDDEN), "mlp.c_proj": (HIDDEN, D)}
        for name, shape in block.items():
            shapes |= {f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[-1:]}
    return {
        name: generator.normal("ln" in name and "weight" in name, 0.4, shape).astype("<f4")
        for name, shape in shapes.items()
    }


DTYPES = {"float32": "F32", "float16": "F16", "float64": "F64", "bool": "BOOL", "int8": "I8"}


def stored(weights):
    """A safetensors file of these arrays; of a pair, the second says the dtype."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, weight in weights.items():
        array, dtype = weight if isinstance(weight, tuple) else (weight, DTYPES[weight.dtype.name])
        ends = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": ends}
        data += array.tobytes()
    names = json.dumps(header).encode()
    return struct.pack("<Q", len(names)) + names + data


@pytest.fixture
def write(tmp_path):
    """Writes the tiny model, with changes, and gives its folder. What is None is left out."""

    def write(config=(), weights=(), tokenizer=()):
        def changed(first, changes):
            return {name: each for name, each in {**first, **dict(changes)}.items() if each is not None}

        (tmp_path / "model.safetensors").write_bytes(stored(changed(tiny_weights(), weights)))
        (tmp_path / "config.json").write_text(json.dumps({**tiny_config(), **dict(config)}))
        (tmp_path / "tokenizer.json").write_text(json.dumps({**tiny_tokenizer(), **dict(tokenizer)}))
        return tmp_path

    return write


class Plain(nn.Module):
    """GPT-2 of torch's layers, with weights by the names of GPT-2."""

    def __init__(self, weights, activation):
        super().__init__()
        self.weights = {name: torch.tensor(weight).double() for name, weight in weights.items()}
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                D, HEADS, HIDDEN, 0.0, activation, layer_norm_eps=EPS, batch_first=True, norm_first=True
            )
            for _ in range(LAYERS)
        )
        names = {"ln_1": "norm1", "ln_2": "norm2", "attn.c_proj": "self_attn.out_proj"}
        names |= {"mlp.c_fc": "linear1", "mlp.c_proj": "linear2"}
        for n, block in enumerate(self.blocks):
            state = {}
            for theirs, name in names.items():
                state[f"{name}.weight"] = self.weights[f"h.{n}.{theirs}.weight"].t()  # of a vector, itself
                state[f"{name}.bias"] = self.weights[f"h.{n}.{theirs}.bias"]
            state["self_attn.in_proj_weight"] = self.weights[f"h.{n}.attn.c_attn.weight"].T
            state["self_attn.in_proj_bias"] = self.weights[f"h.{n}.attn.c_attn.bias"]
            block.load_state_dict(state)
        self.double().eval()

    def forward(self, ids):
        x, maps, hidden = (
            self.weights["wte.weight"][ids] + self.weights["wpe.weight"][: len(ids)],
            [],
            ~causal(len(ids)),
        )
        for block in self.blocks:
            y = block.norm1(x)
            maps.append(block.self_attn(y, y, y, attn_mask=hidden, average_attn_weights=False)[1])
            x = block(x[None], src_mask=hidden)[0]
        gain, bias = self.weights["ln_f.weight"], self.weights["ln_f.bias"]
        return nn.functional.layer_norm(x, (D,), gain, bias, EPS) @ self.weights["wte.weight"].T, torch.stack(maps)


ACTIVATIONS = {"gelu_new": nn.GELU("tanh"), "gelu": nn.GELU(), "relu": nn.ReLU()}


@pytest.mark.filterwarnings("ignore:.*mask types")
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_computes_what_torch_s_layers_do(write, activation):
    folder, drawn = write({"activation_function": activation}), torch.get_rng_state()
    model, pairs = load(folder)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    ids = pairs.encode(TEXT)
    with capture_attention(model.double()) as maps:
        scores = model(ids[None])[0]
    want_scores, want_maps = Plain(tiny_weights(), ACTIVATIONS[activation])(ids)
    assert_close(scores, want_scores, atol=1e-10, rtol=0)
    assert_close(torch.cat([*maps.values()]), want_maps, atol=1e-10, rtol=0)
    assert want_maps.std() > 0.05  # they are no uniform ones, for which heads are all the same


def test_what_takes_a_model_takes_this_one(write):
    model, pairs = load(write())
    ids = pairs.encode(TEXT)
    with capture_attention(model) as maps, capture_attention(model, what="outputs") as brought:
        scores = model(ids[None])
    tokens = [pairs.decode(one[None]) for one in ids]
    assert HeadBrowser(tokens, maps).weights().shape == (LAYERS, HEADS, len(ids), len(ids))
    for place in [(0, 2), (1, 0)]:
        with change_attention(model, {place: "off"}), capture_attention(model, what="outputs") as after:
            assert (model(ids[None]) - scores).abs().max() > 0.01
        name = [*brought][place[0]]
        assert brought[name][0, place[1]].abs().max() > 0.01
        assert after[name][0, place[1]].abs().max() == 0
    assert diagnose(model.get_submodule(next(iter(maps))))
    prompt, written = ids[None, :5], ids[None, :5]
    while written.shape[1] < LONGEST:
        best = model(written)[:, -1]
        best[:, END] = -torch.inf  # what pads is not written
        written = torch.cat([written, best.argmax(-1, keepdim=True)], 1)
    assert torch.equal(greedy(model, prompt, stop=None, length=LONGEST, pad=END), written)
    first_token = torch.tensor([[5, 0]])  # a token like others
    assert greedy(model, first_token, stop=None, length=3, pad=END)[:, :2].equal(first_token)
    first, again = (sample(model, prompt, stop=None, length=20, top_p=0.9, seed=3, pad=END) for _ in range(2))
    assert torch.equal(first, again)
    with pytest.raises(ValueError, match="only 0 to 31 were learned"):
        greedy(model, prompt, stop=None, length=LONGEST + 2, pad=END)


def test_names_packings_and_masks_of_other_versions_are_the_same_model(write):
    ids = torch.arange(9)[None]
    want = load(write())[0](ids)
    mask = np.tril(np.ones((1, 1, LONGEST, LONGEST), dtype=bool))
    masks = {f"h.{n}.attn.bias": mask for n in range(LAYERS)} | {"h.0.attn.masked_bias": np.array(-1e4, dtype="<f4")}
    prefixed = {f"transformer.{name}": weight for name, weight in (tiny_weights() | masks).items()}
    prefixed["lm_head.weight"] = tiny_weights()["wte.weight"]
    gone = dict.fromkeys(tiny_weights())
    assert torch.equal(load(write(weights=masks))[0](ids), want)
    assert torch.equal(load(write(weights=gone | prefixed))[0](ids), want)
    odd = {"h.0.attn.bias": np.ones((3,), dtype=bool)}  # after which no number begins where floats do in memory
    assert torch.equal(load(write(weights=gone | odd | tiny_weights()))[0](ids), want)
    halves = {name: weight.astype("<f2") for name, weight in tiny_weights().items()}
    assert_close(load(write(weights=halves))[0](ids), want, atol=0.1, rtol=0)
    doubles = {name: weight.astype("<f8") for name, weight in tiny_weights().items()}
    assert torch.equal(load(write(weights=doubles))[0](ids), want)
    cut = {name: ((weight.view("<u4") >> 16).astype("<u2"), "BF16") for name, weight in tiny_weights().items()}
    rounded = {name: (weight.view("<u4") >> 16 << 16).view("<f4") for name, weight in tiny_weights().items()}
    assert torch.equal(load(write(weights=cut))[0](ids), load(write(weights=rounded))[0](ids))


def test_its_tokens_are_those_of_the_list(write):
    _, pairs = load(write())
    numbers = tiny_tokenizer()["model"]["vocab"]
    assert len(pairs) == N
    assert pairs.encode("<end>the 19").tolist() == [END, numbers["the"], numbers["Ġ"], numbers["19"]]
    assert pairs.decode(pairs.encode(TEXT)) == TEXT
    newer = tiny_tokenizer()["model"]
    newer["merges"] = [merge.split(" ") for merge in newer["merges"]]
    del newer["vocab"]["<end>"]  # it is among the added ones
    again = load(write(tokenizer={"model": newer}))[1]
    assert (again.tokens, again.merges) == (pairs.tokens, pairs.merges)


def test_what_does_nothing_to_a_text_is_no_fault(write):
    nothing = {"dropout": None, "unk_token": "", "byte_fallback": False, "ignore_merges": False, "fuse_unk": False}
    nothing |= {"continuing_subword_prefix": "", "end_of_word_suffix": None}
    whole = added(lstrip=False, rstrip=False, single_word=False, normalized=True) | model_of(**nothing)
    for processor in (None, {"type": "ByteLevel", "trim_offsets": True}, ENDS | {"special_tokens": {}}):
        _, pairs = load(write(tokenizer=whole | {"post_processor": processor}))
        assert pairs.decode(pairs.encode(TEXT)) == TEXT


def test_a_byte_without_a_token_is_the_unknown_one(write):
    _, pairs = load(write({"vocab_size": N - 1}, {"wte.weight": tiny_weights()["wte.weight"][1:]}, UNKNOWN))
    assert pairs.encode("aQ").tolist() == [pairs.encode("a").item(), N - 2]


def model_of(**changes):
    return {"model": tiny_tokenizer()["model"] | changes}


def cut_by(**changes):
    return {"pre_tokenizer": tiny_tokenizer()["pre_tokenizer"] | changes}


def added(**changes):
    return {"added_tokens": [tiny_tokenizer()["added_tokens"][0] | changes]}


def without_token(letter, **changes):
    tokens = [token for token in tiny_tokenizer()["model"]["vocab"] if token != letter]
    vocab = {token: i for i, token in enumerate(tokens)}
    return model_of(vocab=vocab, **changes) | {"added_tokens": [{"id": vocab["<end>"], "content": "<end>"}]}


UNKNOWN = without_token("Q", unk_token="<end>")
ENDS = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}], "special_tokens": {"<end>": {}}}
NAN = np.full((D,), np.nan, dtype="<f4")
FAULTS = {
    "another family": ({"model_type": "opt"}, {}, {}, "family 'opt'; in such a file gpt2 is known"),
    "no family": ({"model_type": None}, {}, {}, r"model_type must be a str, and is missing"),
    "no heads": ({"n_head": None}, {}, {}, r"n_head must be a int, and is missing"),
    "heads that don't divide": ({"n_head": 5}, {}, {}, "heads"),
    "none of the heads": ({"n_head": 0}, {}, {}, "heads"),
    "another width": (
        {"n_embd": 32},
        {},
        {},
        r"wte.* \(270, 32\), by the sizes in config.json, and has \(270, 24\)",
    ),
    "another length": ({"n_positions": 1 << 60}, {}, {}, r"wpe.weight .* and has \(32, 24\)"),
    "another hidden width": ({"n_inner": None}, {}, {}, r"h.0.mlp.c_fc.weight should have the shape \(24, 96\)"),
    "too many blocks": ({"n_layer": 1 << 60}, {}, {}, "h.2.ln_1.weight .* is missing"),
    "too few blocks": ({"n_layer": 1}, {}, {}, "does not know: h.1"),
    "another activation": (
        {"activation_function": "silu"},
        {},
        {},
        "'silu'; what is known here is gelu_new, gelu, relu",
    ),
    "unscaled scores": ({"scale_attn_weights": False}, {}, {}, "scale_attn_weights is False"),
    "scores scaled by the block": ({"scale_attn_by_inverse_layer_idx": True}, {}, {}, "inverse_layer_idx is True"),
    "eps that is no number": ({"layer_norm_epsilon": float("nan")}, {}, {}, "layer_norm_epsilon should be from 0 to 1"),
    "no bias": ({}, {"h.1.attn.c_attn.bias": None}, {}, r"h.1.attn.c_attn.bias .* \(72,\), .* is missing"),
    "an output of its own": ({}, {"lm_head.weight": np.zeros((N, D), "<f4")}, {}, "does not know: lm_head.weight"),
    "weights not turned": ({}, {"h.0.mlp.c_fc.weight": np.zeros((HIDDEN, D), "<f4")}, {}, r"and has \(40, 24\)"),
    "no numbers": ({}, {"ln_f.bias": NAN}, {}, "ln_f.bias has weights that are not finite"),
    "integers": ({}, {"ln_f.bias": np.zeros(D, "i1")}, {}, "ln_f.bias is stored as I8; what is known here is F64"),
    "an unknown dtype": ({}, {"ln_f.bias": (np.zeros(D, "i1"), "F8_E4M3")}, {}, "F8_E4M3, which is not known here"),
    "bytes that don't fit": ({}, {"ln_f.bias": (np.zeros(D, "i1"), "F32")}, {}, r"ln_f.bias can't lie at"),
    "another vocabulary": ({"vocab_size": 5257}, {}, {}, "scores for 5,257 tokens, and its tokenizer.json lists 270"),
    "another table": ({}, {"wte.weight": np.zeros((N + 1, D), "<f4")}, {}, r"wte.weight .* and has \(271, 24\)"),
    "word pieces": ({}, {}, model_of(type="WordPiece"), r"its tokens are WordPiece"),
    "a blank first": ({}, {}, cut_by(add_prefix_space=True), "'add_prefix_space': True.*what is known here is BPE"),
    "uncut": ({}, {}, cut_by(use_regex=False), "'use_regex': False"),
    "cut in two ways": ({}, {}, {"pre_tokenizer": {"type": "Sequence", "pretokenizers": []}}, "Sequence"),
    "normalized": ({}, {}, {"normalizer": {"type": "NFC"}}, "normalized by {'type': 'NFC'}"),
    "no merges": ({}, {}, model_of(merges=None), "doesn't list byte pairs"),
    "a gap in the numbers": ({}, {}, model_of(vocab={"a": 7}), "2 tokens should have the numbers from 0 on"),
    "a merge of nothing": ({}, {}, model_of(merges=["th e"]), r"merge 0 joins b'th'"),
    "merges left out": ({}, {}, model_of(dropout=0.1), "dropout is 0.1, which leaves out merges"),
    "whole words": ({}, {}, model_of(ignore_merges=True), "ignore_merges is True, which takes a word whole"),
    "bytes for others": ({}, {}, model_of(byte_fallback=True), "byte_fallback is True, which writes a character"),
    "unknown ones as one": ({}, {}, model_of(fuse_unk=True), "fuse_unk is True, which makes one token of several"),
    "marks within": (
        {},
        {},
        model_of(continuing_subword_prefix="##"),
        "_prefix is .##., which marks",
    ),
    "marks at ends": ({}, {}, model_of(end_of_word_suffix="</w>"), "end_of_word_suffix is '</w>', which marks"),
    "an end alone": ({}, {}, added(single_word=True), "single_word is True, which finds a special token only"),
    "an end and spaces": ({}, {}, added(lstrip=True), "lstrip is True, which drops the spaces before"),
    "an end, then spaces": ({}, {}, added(rstrip=True), "rstrip is True, which drops the spaces after"),
    "ends that it adds": ({}, {}, {"post_processor": ENDS}, "its post_processor, TemplateProcessing, adds tokens"),
    "a byte without a token": ({}, {}, without_token("Q"), "lists no unk_token, and 1 of the 256 bytes"),
    "a list": ({}, {}, {"model": []}, "doesn't list byte pairs"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_does_not_fit_is_told(write, name):
    config, weights, tokenizer, told = FAULTS[name]
    unfit = weights or re.search(r"wte|wpe|h\.\d", told)  # weights that are not as config.json has it
    faulty = "tokenizer.json" if tokenizer else "model.safetensors" if unfit else "config.json"
    with pytest.raises(FileError, match=f"{faulty} can't be read: .*{told}"):
        load(write(config, weights, tokenizer))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_file_that_is_missing_beside_it_is_told(write, name):
    folder = write()
    (folder / name).unlink()
    with pytest.raises(FileError, match=f"model.safetensors can't be read: .*{name} beside it, which is missing"):
        load(folder)
    for content in ("", "[]", "{", "[" * 99_999):
        (folder / name).write_text(content)
        with pytest.raises(FileError, match=f"{name} can't be read: where an object in JSON should be"):
            load(folder)


def test_a_model_in_several_files_is_told(write):
    folder = write()
    (folder / "model-00002-of-00002.safetensors").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"one \.gguf or \.safetensors file in .*, and there are 2"):
        load(folder)
    assert len(load(folder / "model.safetensors")[1]) == N


def test_a_file_that_is_cut_or_changed_is_told(write):
    path = write() / "model.safetensors"
    content = path.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    for end in (0, 1, 7, 8, 9, length - 1, length, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(FileError, match=r"model\.safetensors can't be read"):
            load(path)
    generator, read = random.Random(0), 0
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(generator.choice([1, 1, 3, 20])):
            changed[generator.randrange(length)] ^= 1 << generator.randrange(8)
        path.write_bytes(changed)
        try:
            read_safetensors(path)
            read += 1
        except FileError:
            pass
    assert read < 100  # such as those with a letter in a name changed, which only a family's names tell


PLACES = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": [-2, -1]},
        {"shape": [True, 2]},
        {"shape": [2.0]},
        {"shape": 2},
        {"shape": [1 << 62, 1 << 62]},
        {"data_offsets": [-8, 0]},
        {"data_offsets": [8, 0]},
        {"data_offsets": [8, 16]},
        {"data_offsets": [0]},
        {"dtype": 32},
    ],
)
def test_no_place_is_believed(tmp_path, wrong):
    path = tmp_path / "model.safetensors"
    (tmp_path / "config.json").write_text("{}")
    for place, fits in ((PLACES, True), (PLACES | wrong, False)):
        names = json.dumps({"w": place}).encode()
        path.write_bytes(struct.pack("<Q", len(names)) + names + np.arange(2, dtype="<f4").tobytes())
        if fits:
            assert read_safetensors(path).weights["w"].unpack().tolist() == [0, 1]
        else:
            with pytest.raises(FileError, match="w can't lie at"):
                read_safetensors(path)


@pytest.mark.slow
def test_it_computes_what_transformers_does(tmp_path):
    """What `save_pretrained` writes is read, and does the same."""
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = theirs.pre_tokenizer.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=letters)
    text = shakespeare()[:50_000]
    theirs.train_from_iterator([text], trainer)
    transformers.GPT2TokenizerFast(tokenizer_object=theirs).save_pretrained(tmp_path)
    config = transformers.GPT2Config(vocab_size=400, n_positions=LONGEST, n_embd=D, n_layer=LAYERS, n_head=HEADS)
    reference = transformers.GPT2LMHeadModel(config).eval()
    for weight in reference.parameters():
        nn.init.normal_(weight, std=0.3)
    reference.save_pretrained(tmp_path)
    model, pairs = load(tmp_path)
    for line in text.splitlines()[:300]:
        assert pairs.encode(line).tolist() == theirs.encode(line).ids
    ids = pairs.encode(text)[None, :LONGEST]
    with torch.no_grad():
        assert_close(model(ids), reference(ids).logits, atol=1e-4, rtol=0)
