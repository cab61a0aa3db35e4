"""Any text comes back; learning and encoding are a plain recount, and what other people's tokenizer gives."""

import random
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import BytePairs
from attnbook.data import shakespeare

THE = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the"), (b"h", b"e")]
WORDS = {  # a text, and the words that GPT-2 cuts it into
    "the cat, the dog!": ["the", " cat", ",", " the", " dog", "!"],
    "I'll say: we've seen": ["I", "'ll", " say", ":", " we", "'ve", " seen"],
    "it's they're I'm he'd don't": ["it", "'s", " they", "'re", " I", "'m", " he", "'d", " don", "'t"],
    "a  b\n\n c": ["a", " ", " b", "\n\n", " c"],
    "tail  ": ["tail", "  "],
    "in 1962, 40km": ["in", " 1962", ",", " 40", "km"],
    "snake_case __init__": ["snake", "_", "case", " __", "init", "__"],
    "äöü 東京 ...?!": ["äöü", " 東京", " ...?!"],
    "'S'SS": ["'", "S", "'", "SS"],
}


def cut(text):
    """Into words, character by character."""
    i = 0
    while i < len(text):
        blank = text[i] == " " and i + 1 < len(text) and not text[i + 1].isspace()
        end = next((i + len(c) for c in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d") if text.startswith(c, i)), None)
        if end is None:
            end = i + blank
            kind = kind_of(text[end])
            while end < len(text) and kind_of(text[end]) == kind:
                end += 1
            if kind == "blank" and end < len(text) and end - i > 1:
                end -= 1  # the last one goes with what follows, or stands alone
        yield text[i:end]
        i = end


def kind_of(letter):
    if letter.isspace():
        return "blank"
    if letter.isalnum():
        return "digit" if letter.isdecimal() else "letter"
    return "other"


def most_often(words):
    """The pair that a recount finds, or None."""
    counts = Counter()
    for word, times in words:
        for pair in pairwise(word):
            counts[pair] += times
    return min(counts, key=lambda pair: (-counts[pair], pair), default=None)


def merge(word, pair):
    i = 0
    while i + 1 < len(word):
        if (word[i], word[i + 1]) == pair:
            word = [*word[:i], word[i] + word[i + 1], *word[i + 2 :]]
        i += 1
    return word


def learn_by_recounting(text, N):
    """Everything counted again for each merge."""
    words = [([bytes([b]) for b in word.encode()], times) for word, times in Counter(cut(text)).items()]
    merges, known = [], {bytes([b]) for b in range(256)}
    while len(known) < N and (pair := most_often(words)):
        merges.append(pair)
        known.add(pair[0] + pair[1])
        words = [(merge(word, pair), times) for word, times in words]
    return merges


def encode_by_searching(pairs, word):
    """Again and again the first merge of the list that applies, where it first applies."""
    pieces = [bytes([b]) for b in word.encode()]
    while found := [(pairs.merges.index(p), i) for i, p in enumerate(pairwise(pieces)) if p in pairs.merges]:
        _, i = min(found)
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


def alphabet():
    """GPT-2's character for each byte."""
    same = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b) if b in same else chr(next(others)) for b in range(256)]


def pieces(pairs, text):
    return [pairs.tokens[i] for i in pairs.encode(text).tolist()]


@pytest.fixture(scope="module")
def learned():
    return BytePairs.learn(shakespeare()[:60_000], 600)


@given(text=st.text())
def test_any_text_comes_back(learned, text):
    for pairs in (learned, BytePairs([]), BytePairs(THE, ["<|end|>", "é"])):
        ids = pairs.encode(text)
        assert pairs.decode(ids) == text
        assert ids.dtype == torch.int64
        assert ids.shape == (len(ids),)


@given(text=st.text("the \n'<|>", max_size=40))
def test_texts_with_specials_come_back(text):
    pairs = BytePairs(THE, ["<|he|>", "<|", "\n"])
    assert pairs.decode(pairs.encode(text)) == text


def test_ids_by_hand():
    pairs = BytePairs(THE)
    assert pairs.tokens[:256] == tuple(bytes([b]) for b in range(256))
    assert pairs.tokens[256:] == (b"th", b"the", b" the", b"he")
    assert len(pairs) == 260
    assert pairs.encode("the the he th\n").tolist() == [257, 258, 32, 259, 32, 256, 10]
    assert pairs.encode("é€").tolist() == [0xC3, 0xA9, 0xE2, 0x82, 0xAC]
    assert pairs.decode(torch.tensor([258, 259, 10])) == " thehe\n"
    assert pairs.decode(torch.tensor([0x82, 104, 0xC3])) == "\ufffdh\ufffd"


def test_the_first_merge_of_the_list_comes_first_not_the_longest_nor_the_leftmost():
    assert pieces(BytePairs([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]), "abc") == [b"a", b"bc"]
    assert pieces(BytePairs([(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")]), "abc") == [b"ab", b"c"]
    assert pieces(BytePairs([(b"a", b"a")]), "aaaaa") == [b"aa", b"aa", b"a"]
    assert pieces(BytePairs([(b"a", b"a"), (b"a", b"aa")]), "aaa") == [b"aa", b"a"]


@pytest.mark.parametrize("text", WORDS)
def test_words_are_gpt_2_s(text):
    """With all merges that there are, each word is a token."""
    pairs = BytePairs.learn(text, 999)
    assert pieces(pairs, text) == [word.encode() for word in WORDS[text]]


@given(text=st.text("ast1²_ '\n\té東.", max_size=30))
def test_words_are_cut_as_by_hand(text):
    assert pieces(BytePairs.learn(text, 9999), text) == [word.encode() for word in cut(text)]


@given(text=st.text("abc ", max_size=40), more=st.integers(0, 12))
def test_learning_is_a_plain_recount(text, more):
    assert list(BytePairs.learn(text, 256 + more).merges) == learn_by_recounting(text, 256 + more)


def test_learning_from_a_play_is_a_plain_recount():
    text = shakespeare()[:8000]
    pairs = BytePairs.learn(text, 420)
    assert list(pairs.merges) == learn_by_recounting(text, 420)
    assert len(pairs) == 420


def test_ties_go_to_the_pair_whose_bytes_come_first():
    assert BytePairs.learn("ba ab", 257).merges == ((b" ", b"a"),)
    assert BytePairs.learn("xy ab", 258).merges == ((b" ", b"a"), (b" a", b"b"))
    assert BytePairs.learn("zz\nab\nzz\nab", 257).merges == ((b"a", b"b"),)


def test_two_ways_to_one_token_are_one_token():
    """abc is made as ab + c in one word and as a + bc in another; a published list may hold that, too."""
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"), (b"abc", b"d")]
    pairs = BytePairs(merges, ["!"])
    assert pairs.tokens[256:] == (b"ab", b"bc", b"abc", b"abcd", b"!")
    assert pairs.encode("!abcd").tolist() == [260, 259]
    text = "bcx " * 9 + "abx " * 5 + "abc " * 4
    learned = BytePairs.learn(text, 270)
    made = [a + b for a, b in learned.merges]
    assert len(learned) == 256 + len({*made})
    assert list(learned.merges) == learn_by_recounting(text, 270)


@given(text=st.text("abc ", max_size=24), seed=st.integers(0, 99))
def test_encoding_is_the_first_merge_again_and_again(text, seed):
    """With merges of any order, not only of one that was learned."""
    rng = random.Random(seed)
    known, merges = [b"a", b"b", b"c", b" "], []
    for _ in range(rng.randrange(12)):
        pair = rng.choice(known), rng.choice(known)
        if pair not in merges:
            merges.append(pair)
            known.append(pair[0] + pair[1])
    pairs = BytePairs(merges)
    assert pieces(pairs, text) == [piece for word in cut(text) for piece in encode_by_searching(pairs, word)]


def test_encoding_a_play(learned):
    text = shakespeare()[100_000:103_000]
    want = [piece for word in cut(text) for piece in encode_by_searching(learned, word)]
    assert pieces(learned, text) == want
    assert len(want) < 0.5 * len(text)
    assert BytePairs(learned.merges).encode(text).tolist() == learned.encode(text).tolist()


def test_a_text_with_no_pairs_left_ends_it():
    assert BytePairs.learn("aab aab", 999).merges == ((b"a", b"a"), (b"aa", b"b"), (b" ", b"aab"))
    assert len(BytePairs.learn("", 999)) == 256
    assert len(BytePairs.learn("a b c", 256)) == 256


def test_nothing_is_nothing(learned):
    assert learned.encode("").tolist() == []
    assert learned.decode(learned.encode("")) == ""
    assert BytePairs([], ["<|end|>"]).encode("").tolist() == []


def test_a_long_word_takes_no_time_to_speak_of(learned):
    word = "the" * 20_000
    assert learned.decode(learned.encode(word)) == word


def test_a_special_is_one_token_wherever_it_stands():
    pairs = BytePairs(THE, ["<|the|>", "<|the|>+", "[1]"])
    assert pairs.tokens[-3:] == (b"<|the|>", b"<|the|>+", b"[1]")
    assert len(pairs) == 263
    assert pairs.encode("the<|the|>the").tolist() == [257, 260, 257]
    assert pairs.encode("<|the|>+<|the|>").tolist() == [261, 260]
    assert pairs.encode("<|the|>[1] [1").tolist() == [260, 262, 32, 91, 49]
    assert pairs.decode(torch.tensor([260, 257, 262])) == "<|the|>the[1]"
    assert BytePairs(THE, ["the"]).encode("the th").tolist() == [260, 32, 256], "a special comes before what it is like"


def test_a_published_list():
    pairs = BytePairs.read(["#version: 0.2\n", "Ġ t\n", "h e\r\n", "Ġt he\n", "Ã ©\n", "Ċ Ċ"], ["<|end|>"])
    assert pairs.merges == ((b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"\xc3", b"\xa9"), (b"\n", b"\n"))
    assert pairs.encode(" théhe\n\n<|end|>").tolist() == [256, 104, 259, 257, 260, 261]
    assert pairs.specials == ("<|end|>",)
    assert BytePairs.read(["# #"]).merges == ((b"#", b"#"),)


def test_the_alphabet_has_a_character_for_each_byte():
    """GPT-2's: what prints stands for itself, and the others, in order, are the letters from U+0100 on."""
    pairs = BytePairs.read([f"{letter} a" for letter in alphabet()])
    assert [first for first, _ in pairs.merges] == [bytes([b]) for b in range(256)]
    assert len({*alphabet()}) == 256


@pytest.mark.parametrize(
    ("merges", "words"),
    [
        ([(b"t", b"h"), (b"the", b"n")], r"merge 1 joins b'the', which is no byte and which no merge before it made"),
        ([(b"e", b"th"), (b"t", b"h")], r"merge 0 joins b'th'"),
        ([(b"t", b"h"), (b"a", b"b"), (b"t", b"h")], r"merges 0 and 2 are the same, \(b't', b'h'\)"),
        ([("t", "h")], r"a merge must be two tokens of bytes, such as \(b't', b'h'\), got \('t', 'h'\)"),
        ([(b"t", b"")], "two tokens of bytes"),
        ([(b"t", b"h", b"e")], "two tokens of bytes"),
        ([b"th"], "two tokens of bytes"),
        ([7], "two tokens of bytes, .* got 7"),
        (["th"], "two tokens of bytes, .* got 'th'"),
    ],
)
def test_merges_that_are_none_are_refused(merges, words):
    with pytest.raises(ValueError, match=words):
        BytePairs(merges)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: BytePairs.learn("abc", 255), "N must be at least 256, since every byte is a token; got 255"),
        (lambda: BytePairs.learn(["abc"], 300), "text must be one string, got a list; for several, try ''.join"),
        (lambda: BytePairs([]).encode(["a"]), "text must be one string, got a list"),
        (lambda: BytePairs([]).encode(b"a"), "text must be one string, got a bytes"),
        (lambda: BytePairs([]).decode(torch.tensor([256])), "between 0 and 255, got 256 to 256"),
        (lambda: BytePairs([]).decode([97]), "got a list; try torch.tensor"),
        (lambda: BytePairs([]).decode(torch.tensor([[97]])), r"ids must have shape \(L,\), got \(1, 1\)"),
        (lambda: BytePairs([], "<|end|>"), "specials are several strings, .* got '<|end|>'"),
        (lambda: BytePairs([], [""]), "specials are several strings, none of them empty"),
        (lambda: BytePairs([], [b"x"]), "specials are several strings"),
        (lambda: BytePairs([], ["x", "y", "x"]), "specials must differ"),
        (lambda: BytePairs.read(["Ġ t", "Ġth e x"]), "line 2 must be two tokens with a space between, got 'Ġth e x'"),
        (lambda: BytePairs.read(["Ġt"]), "line 1 must be two tokens"),
        (lambda: BytePairs.read(["Ġ "]), "line 1 must be two tokens"),
        (lambda: BytePairs.read(["Ġ t", ""]), "line 2 must be two tokens"),
        (lambda: BytePairs.read(["Ġ t", "#version: 0.2"]), "merge 1 joins b'#version:'"),
        (lambda: BytePairs.read(["Ġ \u0144"]), "line 1 has 'ń'"),  # one after the last
        (lambda: BytePairs.read(["日 t"]), "line 1 has '日', which is not in GPT-2's alphabet"),
        (lambda: BytePairs.read(["Ġt h"]), "merge 0 joins b' t'"),
    ],
)
def test_errors_teach(act, words):
    with pytest.raises(ValueError, match=words):
        act()


IDS = {  # that tokenizers 0.23.3 gave
    "'tis the noble Coriolanus, 3 times!\n\nMENENIUS:  What then?": [
        *(553, 278, 260, 371, 463, 561, 300, 284, 44, 32, 51, 256),
        *(316, 275, 33, 10, 10, 378, 58, 32, 32, 503, 551, 63),
    ],
    "naïve 東京 \U0001f60a x² ½": [
        *(110, 97, 195, 175, 291, 32, 230, 157, 177, 228, 186, 172, 32),
        *(240, 159, 152, 138, 32, 120, 194, 178, 32, 194, 189),
    ],
}


@pytest.mark.parametrize("text", IDS)
def test_ids_as_tokenizers_gave_them(learned, text):
    assert learned.encode(text).tolist() == IDS[text]


def test_ids_are_those_of_tokenizers(learned):
    tokenizers = pytest.importorskip("tokenizers")
    printable = alphabet()
    named = ["".join(printable[b] for b in token) for token in learned.tokens]
    merges = [tuple("".join(printable[b] for b in part) for part in pair) for pair in learned.merges]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE({name: i for i, name in enumerate(named)}, merges))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for text in (*WORDS, *IDS, shakespeare()[:200_000]):
        assert learned.encode(text).tolist() == theirs.encode(text).ids
