"""Neighbours and analogies by hand and on real words; files good and damaged."""

import gzip
import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attnbook import ShapeError, SkipGram, WordVectors, learn_vectors, read_vectors, skip_gram_pairs
from attnbook.data import FOLDER, english_vectors, word_vectors
from attnbook.tasks.grammar import FAMILIES, analogies, sentences

# a square of two steps, royal and female, and something else
WORDS = ["man", "woman", "king", "queen", "pear"]
SQUARE = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0.5, 0.5]])
GLOVE = "the 0.5 -1.25 2\nof 1e-3 0 -0\nnaïve 3 4 5\n"


def words():
    return WordVectors(WORDS, SQUARE)


def test_look_up():
    found = words()
    assert len(found) == 5
    assert "king" in found
    assert "kings" not in found
    assert torch.equal(found["king"], SQUARE[2])
    assert torch.equal(found[["pear", "man"]], SQUARE[[4, 0]])
    assert abs(found.similarity("man", "woman") - 0.5**0.5) < 1e-6


def test_neighbours_by_hand():
    cosines = {w: torch.cosine_similarity(SQUARE[2], v, dim=0).item() for w, v in zip(WORDS, SQUARE, strict=True)}
    want = sorted((w for w in WORDS if w != "king"), key=cosines.get, reverse=True)
    got = words().neighbours("king")
    assert [word for word, _ in got] == want
    assert_close([cosine for _, cosine in got], [cosines[w] for w in want])
    assert words().neighbours("king", 1) == got[:1]
    assert words().neighbours("king", without=["queen"]) == [pair for pair in got if pair[0] != "queen"]
    assert words().neighbours(7 * SQUARE[2], 1)[0][0] == "king"


def test_analogies_leave_out_the_query_unless_asked():
    unit = SQUARE / SQUARE.norm(dim=-1, keepdim=True)
    aim = unit[1] - unit[0] + unit[2]
    cosines = torch.cosine_similarity(aim[None], SQUARE, dim=-1)
    with_query = words().analogy("man", "woman", "king", with_query=True)
    assert [word for word, _ in with_query] == [WORDS[i] for i in cosines.argsort(descending=True)]
    assert_close([c for _, c in with_query], cosines.sort(descending=True).values.tolist())
    assert [word for word, _ in words().analogy("man", "woman", "king")] == ["queen", "pear"]
    assert words().analogy("man", "woman", "king", 1)[0][0] == "queen"


@given(n=st.integers(0, 9), scale=st.floats(0.1, 10))
def test_the_length_of_vectors_changes_no_neighbour(n, scale):
    lengths = torch.linspace(scale, 3, 5)[:, None]
    got, want = WordVectors(WORDS, SQUARE * lengths).neighbours("woman", n), words().neighbours("woman", n)
    assert [word for word, _ in got] == [word for word, _ in want]
    assert len(got) == min(n, 4)


def test_real_words():
    english = english_vectors()
    assert (len(english), english.vectors.shape[1]) == (8000, 128)
    plain, with_query = (english.analogy("man", "woman", "king", 1, with_query=q)[0] for q in (False, True))
    assert (plain[0], round(plain[1], 2)) == ("queen", 0.58)
    assert (with_query[0], round(with_query[1], 2)) == ("king", 0.64)  # why the query is usually left out
    assert {"monday", "friday"} <= {word for word, _ in english.neighbours("tuesday", 6)}
    assert set(word_vectors()) <= set(english.words)


def test_the_file_is_the_one_the_script_made():
    assert hashlib.sha256((FOLDER / "vectors.bin").read_bytes()).hexdigest() == (
        "17015928b1aaab2f2a248e0f530a7c3c06f226196cc77d723a83d8353de0a65c"
    )


def test_saved_and_loaded(tmp_path):
    words().save(tmp_path / "vectors.npz")
    loaded = WordVectors.load(tmp_path / "vectors.npz")
    assert loaded.words == tuple(WORDS)
    assert torch.equal(loaded.vectors, SQUARE)
    np.savez(tmp_path / "scaled.npz", words=["a", "b"], vectors=np.array([[1], [-2]], np.int8), scale=np.float32(0.5))
    assert WordVectors.load(tmp_path / "scaled.npz").vectors.tolist() == [[0.5], [-1]]


@pytest.mark.parametrize("header", ["", "3 3\n"])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_text_files_of_glove_and_word2vec(tmp_path, header, name):
    raw = (header + GLOVE).encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    found = read_vectors(tmp_path / name)
    assert found.words == ("the", "of", "naïve")
    assert_close(found.vectors, torch.tensor([[0.5, -1.25, 2], [1e-3, 0, 0], [3, 4, 5]]))
    assert read_vectors(tmp_path / name, limit=2).words == ("the", "of")


def test_a_line_of_a_number_and_a_number_is_only_the_header_if_it_comes_first(tmp_path):
    (tmp_path / "one.txt").write_text("7 0.5\n8 2\n")  # a header by its looks: the word is 7
    assert read_vectors(tmp_path / "one.txt").words == ("8",)


def test_checksums(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(GLOVE, "utf-8")
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(read_vectors(path, sha256=right)) == 3
    with pytest.raises(
        ValueError, match=rf"vectors.txt is not the file it should be: its sha256 is {right}, not 0{{64}}"
    ):
        read_vectors(path, sha256="0" * 64)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (GLOVE + "cut 1 2", r"bad.txt, line 4: 2 numbers for 'cut', but 3 in the lines before. Was the download cut"),
        (GLOVE + "odd 1 two 3", r"bad.txt, line 4: could not convert string to float: 'two'. Is this a text file"),
        (GLOVE + "\n", r"bad.txt, line 4: a word and its numbers were expected, got b'\\n'"),
        (GLOVE + "void nan 1 2", r"bad.txt, line 4: a word and its numbers were expected, got b'void nan 1 2'"),
        (GLOVE + "the 1 2 3", r"every word has one vector, but 'the' is there more than once"),
        (b"\x80\x81 1 2 3\n", r"bad.txt, line 1: .*can't decode byte 0x80"),
        ("", r"bad.txt holds no word vectors"),
        ("400000 300\n", r"bad.txt holds no word vectors"),
    ],
)
def test_damaged_text_files_say_where(tmp_path, content, words):
    (tmp_path / "bad.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=words):
        read_vectors(tmp_path / "bad.txt")


def test_damaged_archives_say_so(tmp_path):
    (tmp_path / "text.npz").write_text("not an archive")
    np.savez(tmp_path / "other.npz", words=["a"])
    for name in ("text.npz", "other.npz"):
        with pytest.raises(ValueError, match=rf"{name} does not hold word vectors"):
            WordVectors.load(tmp_path / name)
    words().save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut.npz does not hold word vectors"):
        WordVectors.load(tmp_path / "cut.npz")
    with pytest.raises(FileNotFoundError):
        WordVectors.load(tmp_path / "nowhere.npz")


def test_unknown_words_get_a_suggestion():
    with pytest.raises(KeyError, match=r"no vector for 'Quean'; try 'queen'"):
        words()["Quean"]
    with pytest.raises(KeyError, match=r"no vector for 'zzz'"):
        words().analogy("man", "woman", "zzz")
    with pytest.raises(KeyError, match=r"no vector for 'x'"):
        words().neighbours("man", without=["x"])


def test_one_vector_a_word():
    with pytest.raises(ShapeError, match=r"vectors must have shape \(N, D\) = \(2, D\), got \(3, 4\)"):
        WordVectors(["a", "b"], torch.zeros(3, 4))
    with pytest.raises(ValueError, match="'a' is there more than once"):
        WordVectors(["a", "b", "a"], torch.zeros(3, 4))


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5), window=st.integers(1, 7), pad=st.sampled_from([0, 9])
)
def test_pairs_of_words_that_met(lengths, window, pad):
    L = max(lengths)
    ids = torch.tensor([[1 + (3 * row + i) % 8 if i < n else pad for i in range(L)] for row, n in enumerate(lengths)])
    want = [
        [row[i].item(), row[j].item()]
        for row, n in zip(ids.view(len(lengths), L), lengths, strict=True)
        for i in range(n)
        for j in range(n)
        if 0 < abs(i - j) <= window
    ]
    got = skip_gram_pairs(ids.view(len(lengths), L), window, pad=pad)
    assert got.shape == (len(want), 2)
    assert sorted(got.tolist()) == sorted(want)


def test_skip_gram_scores_are_dot_products():
    model = SkipGram(N=7, D=3)
    assert not model(torch.tensor([1]), torch.tensor([[2]])).any()  # at first no word fits another
    nn.init.normal_(model.contexts.weight)
    words, contexts = torch.tensor([4, 1]), torch.tensor([[0, 4, 6], [2, 2, 5]])
    got = model(words, contexts)
    for row, word in enumerate(words):
        for place, context in enumerate(contexts[row]):
            assert_close(got[row, place], model.words.weight[word] @ model.contexts.weight[context])


def test_negative_sampling_as_in_its_formula(monkeypatch):
    """What learn_vectors hands to fit: pairs that met, negatives by count^0.75, and the loss."""
    given_to_fit = {}

    def fit(model, loss, draw, steps, **options):
        given_to_fit.update(model=model, loss=loss, draw=draw, steps=steps, options=options)

    monkeypatch.setattr("attnbook.learning.vectors.fit", fit)
    texts = ["a b"] * 16 + ["c d"] * 81
    vectors = learn_vectors(texts, D=3, negatives=4, steps=7, batch=5000, lr=0.1, seed=5)
    assert (given_to_fit["steps"], given_to_fit["options"]) == (7, {"lr": 0.1, "seed": 5})
    assert vectors.words == ("a", "b", "c", "d")
    model = given_to_fit["model"]
    assert_close(vectors.vectors, model.words.weight[3:].detach())
    assert vectors.vectors.std() > 0.1
    words, contexts = given_to_fit["draw"](torch.Generator().manual_seed(1))
    assert words.shape == (5000,)
    assert contexts.shape == (5000, 5)
    partner = {3: 4, 4: 3, 5: 6, 6: 5}
    assert contexts[:, 0].tolist() == [partner[word] for word in words.tolist()]
    assert abs((words <= 4).float().mean() - 16 / 97) < 0.02
    assert abs((contexts[:, 1:] <= 4).float().mean() - 8 / 35) < 0.02  # 16 ** 0.75 = 8, 81 ** 0.75 = 27
    nn.init.normal_(model.contexts.weight)
    scores = model(words, contexts)
    want = -(scores[:, 0].sigmoid().log() + (-scores[:, 1:]).sigmoid().log().sum(1)).mean()
    assert_close(given_to_fit["loss"](model, (words, contexts)), want)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_grammar_teaches_every_analogy(seed):
    vectors = learn_vectors(sentences(seed=seed), seed=seed)
    for family in FAMILIES:
        for a, b, c, d in analogies(family):
            assert vectors.analogy(a, b, c, 1)[0][0] == d, (a, b, c)


def test_vectors_are_learned_again_by_the_same_seed():
    texts = ["red wine", "red apple", "old house"]
    first, second, other = (learn_vectors(texts, D=4, steps=5, batch=8, seed=seed).vectors for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert not first.requires_grad


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="no two words met"):
        learn_vectors(["one", "word", "each"])
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        skip_gram_pairs(torch.ones(1, 3), 0)


def test_saved_under_the_name_given_and_in_single_precision(tmp_path):
    for kind in (torch.bfloat16, torch.float64):
        WordVectors(WORDS, SQUARE.to(kind)).save(tmp_path / "pets")
        found = WordVectors.load(tmp_path / "pets")
        assert found.vectors.dtype == torch.float32
        assert_close(found.vectors, SQUARE)


def test_files_of_something_else_say_so(tmp_path):
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("empty.npz", "array.npy"):
        with pytest.raises(ValueError, match=f"{name} does not hold word vectors"):
            WordVectors.load(tmp_path / name)


def test_a_word_may_hold_spaces_as_in_the_largest_glove(tmp_path):
    (tmp_path / "glove.txt").write_text(". 1 2 3\n. . . 4 5 6\nat name@domain.com .5 6e-1 -.7\n")
    found = read_vectors(tmp_path / "glove.txt")
    assert found.words == (".", ". . .", "at name@domain.com")
    assert_close(found["at name@domain.com"], torch.tensor([0.5, 0.6, -0.7]))
    (tmp_path / "glove.txt").write_text("of 1 2 3\nto 4 5 6 7\n")
    with pytest.raises(ValueError, match=r"line 2: 4 numbers for 'to', but 3 in the lines before"):
        read_vectors(tmp_path / "glove.txt")


def test_a_word_is_a_copy_and_other_arguments_are_looked_at():
    vectors = words()
    vectors["king"].zero_()
    assert torch.equal(vectors["king"], SQUARE[2])
    assert vectors.neighbours("king", without="queen") == vectors.neighbours("king", without=["queen"])
    with pytest.raises(ShapeError, match=r"of must have shape \(D,\) = \(3,\), got \(1, 3\)"):
        vectors.neighbours(SQUARE[:1])
