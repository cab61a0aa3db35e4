"""Text to token ids and back, and what is said of what is not known."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.learning.text import PAD, START, STOP, Vocabulary


@given(texts=st.lists(st.text("abc äß", max_size=6), min_size=1), start=st.booleans())
def test_text_to_ids_and_back(texts, start):
    letters = Vocabulary(["abc", " äß"])
    ids = letters.encode(texts, start=start)
    assert ids.shape == (len(texts), max(map(len, texts)) + 1 + start)
    assert (ids == STOP).sum() == len(texts)
    assert ((ids == START).sum(1) == start).all()
    assert letters.decode(ids) == texts
    assert ids.dtype == torch.int64


def test_words_and_letters():
    words = Vocabulary(["the cat sat", "the dog"], words=True)
    assert words.tokens == ("<pad>", "<start>", "<stop>", "cat", "dog", "sat", "the")
    assert words.encode(["dog  the"], stop=False).tolist() == [[4, 6]]
    assert words.decode(torch.tensor([[START, 4, PAD, 6, STOP, 5]])) == ["dog the"]
    assert len(words) == 7
    assert Vocabulary(["ba"]).encode([]).shape == (0, 0)


@pytest.mark.parametrize("text", ["dux", "<pad>", "<stop>"])
def test_what_is_unknown_is_named(text):
    with pytest.raises(KeyError, match=rf"'{text}' is not in this vocabulary of 1"):
        Vocabulary(["a"], words=True).encode([text])


def test_one_text_is_not_taken_for_several_letters():
    for made in (lambda: Vocabulary("bee"), lambda: Vocabulary(["bee"]).encode("bee")):
        with pytest.raises(ValueError, match=r"texts are several strings; for a single one, try \['bee'\]"):
            made()


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([[3, -1]], "between 0 and 4, got -1 to 3"),
        ([[99]], "between 0 and 4"),
        ([3], r"Try ids\[None\]"),
    ],
)
def test_ids_that_are_no_texts_are_refused(ids, words):
    with pytest.raises(ValueError, match=words):
        Vocabulary(["be"]).decode(torch.tensor(ids))
