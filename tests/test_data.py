"""Round trips, what is held out, and the dates that are easily got wrong."""

from datetime import date

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.data.dates import FIRST, FORMATS, LAST, date_pairs, is_held_out, write
from attnbook.data.text import PAD, START, STOP, Vocabulary

SOME = st.dates(FIRST, LAST)


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


@pytest.mark.parametrize("text", ["dux", "<pad>"])
def test_what_is_unknown_is_named(text):
    with pytest.raises(KeyError, match=rf"'{text}' is not in this vocabulary of 1"):
        Vocabulary(["a"], words=True).encode([text])


@given(day=SOME)
def test_every_format_tells_the_whole_date(day):
    assert len({write(day, form).source for form in FORMATS}) == 7 - (day.month == 5)  # May has no short form
    for form in FORMATS:
        source, target, spans = write(day, form)
        assert date.fromisoformat(target) == day
        year, month, number = (source[spans[part]] for part in ("year", "month", "day"))
        assert int(number) == day.day
        assert int(year) in (day.year, day.year % 100)
        assert month.isalpha() or int(month) == day.month
        assert month.isdecimal() or f"{day:%B}".startswith(month)


def test_dates_easily_got_wrong():
    day = date(2004, 2, 29)
    assert [write(day, form).source for form in FORMATS] == [
        "29 February 2004",
        "February 29, 2004",
        "29 Feb 2004",
        "Feb 29 2004",
        "Sunday, 29 February 2004",
        "29.02.2004",
        "2/29/04",
    ]
    assert write(date(1950, 1, 1), "{m}/{day}/{yy}").source == "1/1/50"
    assert write(date(2049, 12, 31), "{m}/{day}/{yy}").source == "12/31/49"
    assert write(date(2000, 5, 1), "{mon} {day} {year}").source == "May 1 2000"


def test_two_digits_of_a_year_mean_one_year():
    assert len({year % 100 for year in range(FIRST.year, LAST.year + 1)}) == LAST.year - FIRST.year + 1


def test_what_is_held_out_is_never_met():
    seen, held = ({p.target for p in date_pairs(3000, held_out=h)} for h in (False, True))
    assert not seen & held
    assert all(is_held_out(date.fromisoformat(t)) for t in held)
    share = sum(is_held_out(date.fromordinal(n)) for n in range(FIRST.toordinal(), LAST.toordinal() + 1))
    assert 0.09 < share / (LAST - FIRST).days < 0.11


def test_dates_are_drawn_by_seed_and_all_formats_appear():
    assert date_pairs(50, seed=4) == date_pairs(50, seed=4) != date_pairs(50, seed=5)
    assert date_pairs(50)[:20] == date_pairs(20)
    lengths = [len(p.source) for p in date_pairs(2000)]
    assert min(lengths) == 6  # 1/1/50
    assert max(lengths) == len("Wednesday, 30 September 2020")
    assert max(p.spans["year"].stop for p in date_pairs(99)) > 0
