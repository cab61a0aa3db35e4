"""The tokens of a published model: byte pairs, under the numbers that its list gives them."""

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from attnbook.errors import FileError
from attnbook.learning.bytepairs import ALPHABET, BytePairs
from attnbook.pretrained.model_file import ModelFile
from attnbook.pretrained.safetensors import read_json

SPECIAL = (3, 4)  # types of tokens that are no pieces of text: for control, and of the maker's own
CUT = [("type", "ByteLevel"), ("add_prefix_space", False), ("use_regex", True)]  # into words as GPT-2 does
OPTIONS = {  # of tokenizer.json, and what each would do to a text that is encoded
    "dropout": "leaves out merges at random",
    "byte_fallback": "writes a character that has no token as its bytes",
    "ignore_merges": "takes a word whole if the list has it, whatever the merges say",
    "fuse_unk": "makes one token of several that the list lacks",
    "continuing_subword_prefix": "marks each piece that goes on with a word",
    "end_of_word_suffix": "marks each piece that ends a word",
    "single_word": "finds a special token only where it is a word of its own",
    "lstrip": "drops the spaces before a special token",
    "rstrip": "drops the spaces after a special token",
}


class PublishedPairs(BytePairs):
    """Byte pairs whose tokens are numbered as in a published list. Bytes that it lacks have the number `unknown`.

    >>> pairs = PublishedPairs([(b"h", b"i")], ["<end>"], tokens=[b"<end>", b"h", b"i", b"hi"], unknown=0)
    >>> pairs.encode("hihi<end>h!")
    tensor([3, 3, 0, 1, 0])

    With `numerals` each numeral is a word of its own, as models want it that are to calculate: 1962 is four tokens.
    """

    def __init__(
        self,
        merges: Iterable[tuple[bytes, bytes]],
        specials: Sequence[str],
        tokens: Sequence[bytes],
        unknown: int,
        *,
        numerals: bool = False,
    ):
        super().__init__(merges, specials)
        numbers = {token: number for number, token in enumerate(tokens)}
        if not 0 <= unknown < len(tokens):
            raise ValueError(f"unknown must be one of {len(tokens)} tokens, got {unknown}.")
        if len(numbers) < len(tokens) or not numbers.keys() <= {*self.tokens}:
            strange = sorted(numbers.keys() - {*self.tokens})[:3]
            raise ValueError(f"tokens must be bytes, merges or specials, each once; got others, such as {strange}.")
        for special in self.specials:
            if special.encode() not in numbers:
                raise ValueError(f"the special {special} has no number in the list of tokens.")
        self._ids = {token: numbers.get(token, unknown) for token in self._ids}
        self._special_ids = {special: numbers[special.encode()] for special in self.specials}
        self.tokens, self.numerals = tuple(tokens), numerals

    def _words(self, text: str) -> list[str]:
        parts = _numerals().split(text) if self.numerals else [text]
        return [word for part in parts for word in super(PublishedPairs, self)._words(part)]


@cache
def _numerals() -> re.Pattern[str]:
    """Each character that Unicode calls a number, be it a digit or Ⅷ; `re` has no word for them."""
    return re.compile(
        f"([{''.join(c for c in map(chr, range(sys.maxunicode + 1)) if c.isalnum() and not c.isalpha())}])"
    )


def gguf_pairs(file: ModelFile) -> PublishedPairs:
    """The tokenizer that a GGUF file describes."""
    model, cut = file.fact("tokenizer.ggml.model", str), file.fact("tokenizer.ggml.pre", str, "gpt-2")
    if model != "gpt2" or cut not in ("gpt-2", "smollm"):
        raise ValueError(f"its tokenizer is {model!r}, {cut!r}; what is known here is 'gpt2', 'gpt-2' or 'smollm'")
    texts, types = file.fact("tokenizer.ggml.tokens", list), file.fact("tokenizer.ggml.token_type", np.ndarray).tolist()
    specials = [text for text, kind in zip(texts, types, strict=True) if kind in SPECIAL]
    unknown = file.fact("tokenizer.ggml.unknown_token_id", int, 0)
    return _pairs(file.fact("tokenizer.ggml.merges", list), specials, texts, unknown, numerals=cut == "smollm")


def json_pairs(file: ModelFile) -> PublishedPairs:
    """The tokenizer that the `tokenizer.json` beside a safetensors file describes."""
    path = file.path.with_name("tokenizer.json")
    if not path.is_file():
        raise ValueError("its tokens are in tokenizer.json beside it, which is missing")
    told = read_json(path)
    try:
        model, cut, specials = told["model"], told["pre_tokenizer"], [each["content"] for each in told["added_tokens"]]
        for options in (model, *told["added_tokens"]):
            for option, effect in OPTIONS.items():
                if options.get(option):
                    raise ValueError(f"{option} is {options[option]!r}, which {effect}; that is not known here")
        processor = told.get("post_processor") or {"type": "ByteLevel"}
        if processor["type"] != "ByteLevel" and processor.get("special_tokens", True):
            raise ValueError(f"its post_processor, {processor['type']}, adds tokens to a text; that is not known here")
        kind = model.get("type", "BPE")  # old files don't say
        if kind != "BPE" or told["normalizer"] or any(cut.get(name, known) != known for name, known in CUT):
            came = f"{kind}, cut by {cut}, normalized by {told['normalizer']}"
            raise ValueError(
                f"its tokens are {came}; what is known here is BPE, cut by {dict(CUT)}, normalized by None"
            )
        numbers = model["vocab"] | {each["content"]: each["id"] for each in told["added_tokens"]}
        texts = sorted(numbers, key=numbers.__getitem__)
        if [numbers[text] for text in texts] != [*range(len(texts))]:
            raise ValueError(f"its {len(texts)} tokens should have the numbers from 0 on, each once")
        unknown = model.get("unk_token") or None  # old files write ""
        if unknown is None and (lacking := [letter for letter in ALPHABET if letter not in numbers]):
            raise ValueError(f"it lists no unk_token, and {len(lacking)} of the 256 bytes have no token of their own")
        merges = [line if isinstance(line, str) else " ".join(line) for line in model["merges"]]
        return _pairs(merges, specials, texts, numbers[unknown] if unknown else 0)
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError(path, f"it doesn't list byte pairs and their tokens ({error!r})") from None
    except ValueError as error:
        raise FileError(path, str(error)) from error


def _pairs(merges: list[str], specials: list[str], texts: list[str], unknown: int, **options) -> PublishedPairs:
    """Byte pairs of tokens that are written in GPT-2's alphabet, unless they are special."""
    tokens = [text.encode() if text in specials else _in_bytes(text) for text in texts]
    return PublishedPairs(BytePairs.read(merges, specials).merges, specials, tokens, unknown, **options)


def _in_bytes(text: str) -> bytes:
    try:
        return bytes(ALPHABET[letter] for letter in text)
    except KeyError as letter:
        raise ValueError(f"its token {text!r} has {letter}, which is not in GPT-2's alphabet of bytes") from None
