"""Round trips, what is held out, and the dates that are easily got wrong."""

import hashlib
import json
from datetime import date

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnbook.data import FOLDER, english_vectors, shakespeare
from attnbook.data.benchmarks import measured
from attnbook.data.stored import to_bytes, to_single_bytes, unpack_single
from attnbook.learning.translation import Translation
from attnbook.tasks.analogies import ENGLISH, questions
from attnbook.tasks.dates import (
    FIRST,
    FORMATS,
    LAST,
    date_pairs,
    date_reader,
    date_transformer,
    is_held_out,
    share_on_spans,
    write,
)
from attnbook.tasks.grammar import FAMILIES, analogies, sentences
from attnbook.tasks.marks import finders, marked_letters
from attnbook.tasks.neighbours import KINDS, Neighbour, letters_with_a_star
from attnbook.tasks.phrases import (
    ADJECTIVES,
    COLOURS,
    NOUNS,
    PEOPLE,
    VERBS,
    VERBS_ALONE,
    NounPhrase,
    Phrase,
    phrase_pairs,
)
from attnbook.tasks.repeats import copiers, repeats
from attnbook.tasks.senses import MEANINGS, NEW_WORDS, as_tensors, became, three_matrices, two_stories, understood
from attnbook.tasks.sentences import SENSES, references, two_senses
from attnbook.tasks.writing import writer
from benchmarks.tables import tables
from booktools.make import first, word_map
from booktools.make import words as word_files
from booktools.make.seeds import word_vectors
from tests import ROOT
from tests.sizes import is_light

SOME = st.dates(FIRST, LAST)
BENCHMARKS = ROOT / "benchmarks"


def test_chapters_show_what_the_benchmarks_measured():
    found = tables((BENCHMARKS / "RESULTS.md").read_text("utf-8"))
    assert found == json.loads((FOLDER / "benchmarks.json").read_text("utf-8"))
    assert measured("Additive")[1][:2] == ["as it is", "d2l.AdditiveAttention"]
    assert not any("*" in cell for rows in found.values() for row in rows for cell in row)
    assert all(len(row) == len(rows[0]) for rows in found.values() for row in rows)


@given(day=SOME)
def test_every_format_tells_the_whole_date(day):
    assert len({write(day, form).source for form in FORMATS}) == 8 - (day.month == 5)  # May has no short form
    for form in FORMATS:
        source, target, spans = write(day, form)
        assert date.fromisoformat(target) == day
        year, month, number = (source[spans[part]] for part in ("year", "month", "day"))
        assert int(number) == day.day
        assert int(year) in (day.year, day.year % 100)
        assert month.isalpha() or int(month) == day.month
        assert month.isdecimal() or f"{day:%B}".lower().startswith(month.lower())


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
        "29th of february 2004",
    ]
    ends = [write(date(2004, 3, n), "{th}").source for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)]
    assert ends == ["st", "nd", "rd", "th", "th", "th", "th", "st", "nd", "rd", "st"]
    assert write(date(1950, 1, 1), "{m}/{day}/{yy}").source == "1/1/50"
    assert write(date(2049, 12, 31), "{m}/{day}/{yy}").source == "12/31/49"
    assert write(date(2000, 5, 1), "{mon} {day} {year}").source == "May 1 2000"


def test_two_digits_of_a_year_mean_one_year():
    assert {year % 100 for year in range(FIRST.year, LAST.year + 1)} == {*range(100)}
    assert LAST.year - FIRST.year == 99


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


def test_share_of_attention_on_the_span():
    pairs = date_pairs(4, seed=2)
    longest = max(len(pair.source) for pair in pairs)
    weights = torch.zeros(4, 11, longest + 1)
    for row, pair in enumerate(pairs):  # all year letters look at the year, half of the month's at the month
        weights[row, 0:4, pair.spans["year"].start] = 1
        weights[row, 5, pair.spans["month"].stop - 1] = 1
        weights[row, 6, pair.spans["day"].start] = 1
        weights[row, 9, pair.spans["day"].start] = 1
        weights[row, 4, pair.spans["day"].start] = weights[row, 7, pair.spans["day"].start] = 1  # hyphens
    assert share_on_spans(weights, pairs) == {"year": 1, "month": 0.5, "day": 0.5}
    with pytest.raises(ValueError, match="shorter"):
        share_on_spans(weights, pairs[:3])
    even = share_on_spans(torch.full((4, 11, longest), 1 / 20), pairs)
    want = sum(pair.spans["month"].stop - pair.spans["month"].start for pair in pairs) / 4 / 20
    assert abs(even["month"] - want) < 1e-6


def test_the_grammar_is_drawn_by_seed_and_as_long_as_asked():
    assert sentences(500, seed=4) == sentences(500, seed=4) != sentences(500, seed=5)
    words = " ".join(sentences(500)).split()
    assert len(words) - len(sentences(500)[-1].split()) < 500 <= len(words)
    assert len(" ".join(sentences(7)).split()) >= 7


def test_in_the_grammar_pairs_share_their_things_and_differ_as_other_pairs_do():
    met = {}  # with which words each word shares a sentence
    for sentence in sentences():
        for word in sentence.split():
            met.setdefault(word, set()).update(sentence.split())
    for family in FAMILIES.values():
        pairs = [pair.split() for pair in family.pairs.split(";")]
        assert len({frozenset((met[a] ^ met[b]) - {a, b}) for a, b, *_ in pairs}) == 1
        assert [set(things) for _, _, *things in pairs] == [
            (met[a] & met[b]) - set.union(*(met[other] for other, *_ in pairs if other != a)) for a, b, *_ in pairs
        ]


def test_every_pair_of_the_grammar_makes_questions():
    for name, family in FAMILIES.items():
        n = family.pairs.count(";") + 1
        found = analogies(name)
        assert len(set(found)) == n * (n - 1)
        assert all(len({*question}) == 4 for question in found)
    words = [word for family in FAMILIES.values() for pair in family.pairs.split(";") for word in pair.split()[:2]]
    assert len(set(words)) == len(words)


def noun(english):
    return next(noun for noun in NOUNS if noun.one == english)


def adjective(english):
    return next(adjective for adjective in ADJECTIVES if adjective.english == english)


@pytest.mark.parametrize(
    ("determiner", "english", "several", "adjectives", "said", "dit"),
    [
        ("the", "cat", False, [], "the cat", "le chat"),
        ("the", "bird", False, [], "the bird", "l' oiseau"),
        ("the", "hotel", False, [], "the hotel", "l' hôtel"),
        ("the", "hotel", False, ["small"], "the small hotel", "le petit hôtel"),
        ("the", "hotel", False, ["old", "white"], "the old white hotel", "le vieil hôtel blanc"),
        ("the", "hotel", True, ["old", "white"], "the old white hotels", "les vieux hôtels blancs"),
        ("a", "island", False, [], "an island", "une île"),
        ("a", "island", False, ["beautiful"], "a beautiful island", "une belle île"),
        ("a", "cat", False, ["old"], "an old cat", "un vieux chat"),
        ("a", "horse", True, [], "some horses", "des chevaux"),
        ("a", "horse", True, ["new"], "some new horses", "de nouveaux chevaux"),
        ("a", "horse", True, [None, "black"], "some black horses", "des chevaux noirs"),
        ("this", "child", False, [], "this child", "cet enfant"),
        ("this", "child", False, ["beautiful"], "this beautiful child", "ce bel enfant"),
        ("this", "church", False, [], "this church", "cette église"),
        ("this", "mouse", True, [None, "white"], "these white mice", "ces souris blanches"),
        ("my", "sister", False, [], "my sister", "ma sœur"),
        ("my", "church", False, [], "my church", "mon église"),
        ("my", "church", False, ["new"], "my new church", "ma nouvelle église"),
        ("my", "child", True, [], "my children", "mes enfants"),
    ],
)
def test_nouns_easily_got_wrong(determiner, english, several, adjectives, said, dit):
    size, colour = ([adjective(word) if word else None for word in adjectives] + [None, None])[:2]
    phrase = NounPhrase(determiner, noun(english), several, size, colour)
    assert (phrase.english(), phrase.french()) == (said, dit)


def verb(english):
    return next(verb for verb in VERBS + VERBS_ALONE if verb.one == english)


@pytest.mark.parametrize(
    ("several", "english", "denied", "whom", "said", "dit"),
    [
        (False, "sleeps", False, None, "the cat sleeps", "le chat dort"),
        (True, "sleeps", True, None, "the cats do not sleep", "les chats ne dorment pas"),
        (False, "arrives", True, None, "the cat does not arrive", "le chat n' arrive pas"),
        (False, "sees", False, "him", "the cat sees him", "le chat le voit"),
        (True, "loves", False, "her", "the cats love her", "les chats l' aiment"),
        (False, "loves", True, "her", "the cat does not love her", "le chat ne l' aime pas"),
        (False, "loves", False, "them", "the cat loves them", "le chat les aime"),
        (False, "follows", True, "them", "the cat does not follow them", "le chat ne les suit pas"),
        (False, "sees", False, ("a", "bird", False), "the cat sees a bird", "le chat voit un oiseau"),
        (False, "sees", True, ("a", "bird", False), "the cat does not see a bird", "le chat ne voit pas d' oiseau"),
        (False, "hears", True, ("a", "king", True), "the cat does not hear any kings", "le chat n' entend pas de rois"),
        (
            True,
            "finds",
            True,
            ("the", "tree", False),
            "the cats do not find the tree",
            "les chats ne trouvent pas l' arbre",
        ),
    ],
)
def test_phrases_easily_got_wrong(several, english, denied, whom, said, dit):
    if isinstance(whom, tuple):
        whom = NounPhrase(whom[0], noun(whom[1]), whom[2])
    phrase = Phrase(NounPhrase("the", noun("cat"), several), verb(english), denied, whom)
    assert (phrase.english(), phrase.french()) == (said, dit)


@pytest.mark.slow
def test_what_an_english_phrase_is_in_french_has_one_answer():
    pairs = {*phrase_pairs(20_000), *phrase_pairs(5_000, held_out=True)}
    assert len({pair.source for pair in pairs}) == len(pairs)


def test_people_have_no_colour():
    people = {form for noun in PEOPLE for form in (noun.one, noun.several)}
    coloured = {adjective.english for adjective in COLOURS}
    words = [pair.source.split() for pair in phrase_pairs(2000)]
    before = {place[i - 1] for place in words for i in range(1, len(place)) if place[i] in people}
    assert before
    assert not before & coloured


@pytest.mark.slow
def test_joins_of_nouns_and_adjectives_that_are_held_out_are_never_met():
    def joins(pairs):
        """Adjective and noun, next to each other or with a colour in between."""
        nouns = {form for noun in NOUNS for form in (noun.one, noun.several)}
        adjectives = {adjective.english for adjective in ADJECTIVES}
        found = set()
        for pair in pairs:
            words = pair.source.split()
            for place, word in enumerate(words):
                if word in adjectives:
                    found.add((word, next(w for w in words[place:] if w in nouns)))
        return found

    seen, held = joins(phrase_pairs(20_000)), joins(phrase_pairs(5_000, held_out=True))
    kept_apart = held - seen
    assert 0.15 < len(kept_apart) / len(held | seen) < 0.25
    for pair in phrase_pairs(500, seed=3, held_out=True):
        assert joins([pair]) & kept_apart
    assert {word for join in kept_apart for word in join} <= {word for join in seen for word in join} | {
        noun.several for noun in NOUNS
    }
    assert phrase_pairs(50, seed=4) == phrase_pairs(50, seed=4) != phrase_pairs(50, seed=5)


def test_the_words_of_the_sentences_have_vectors():
    for sentence in two_senses(1000) + references(1000):
        assert all(word in english_vectors() for word in sentence.text.split()), sentence


def test_a_word_with_two_senses_has_each_as_often():
    found = two_senses(4000)
    for word, senses in SENSES.items():
        mine = [s.sense for s in found if s.text.split()[s.place] == word]
        assert set(mine) == set(senses)
        assert 0.4 < mine.count(mine[0]) / len(mine) < 0.6
        assert {s.text.split()[s.place] for s in two_senses(20, word=word)} == {word}
    with pytest.raises(ValueError, match="no sentences about 'crane'; there are some about bank, bat, spring"):
        two_senses(1, word="crane")
    assert two_senses(50, seed=4) == two_senses(50, seed=4) != two_senses(50, seed=5)


def test_it_stands_for_one_noun_or_the_other():
    found = references(2000)
    for text, place, noun in found:
        words = text.split()
        assert words[place] == "it"
        assert words[noun - 1] == "the"
    first = sum(noun == 1 for _, _, noun in found)
    assert 0.45 < first / len(found) < 0.55
    for start in {text[: text.index(" it was")] for text, _, _ in found}:
        nouns = {noun for text, _, noun in found if text.startswith(start)}
        assert len(nouns) == 2, start
    assert references(50, seed=4) == references(50, seed=4) != references(50, seed=5)


def test_without_a_seed_the_data_are_those_of_seed_0():
    for draw in (date_pairs, phrase_pairs, sentences, two_senses, references):
        assert draw(20) == draw(20, seed=0)
    assert len(" ".join(sentences()).split()) >= 200_000


def test_the_files_of_the_widgets_are_as_their_script_makes_them():
    for name, content in (word_files.make() | first.make()).items():
        assert (FOLDER / name).read_bytes() == content
    words = english_vectors().words
    header, _, places = (FOLDER / "word_map.bin").read_bytes().partition(b"\n")
    assert json.loads(header)["words"].split() == list(words)
    assert len(places) == 4 * len(words)
    assert word_map.places_bytes(words, np.frombuffer(places, "<i2").reshape(-1, 2)) == header + b"\n" + places


def test_the_networks_of_chapter_11_are_stored_as_they_are_read():
    assert to_single_bytes(writer(), heads=4) == (FOLDER / "writer.bin").read_bytes()
    is_light("writer.bin", (FOLDER / "writer.bin").stat().st_size)
    assert (
        to_bytes({f"{layers}": model for layers, model in copiers().items()}, heads=2)
        == (FOLDER / "induction.bin").read_bytes()
    )


def test_half_a_step_is_all_that_a_parameter_in_one_byte_loses(tmp_path):
    model, again = nn.Linear(30, 20), nn.Linear(30, 20)
    (tmp_path / "small.bin").write_bytes(to_single_bytes(model, about="nothing"))
    unpack_single(tmp_path / "small.bin", again)
    for (name, x), y in zip(model.named_parameters(), again.parameters(), strict=True):
        assert (x - y).abs().max() <= 0.501 * x.abs().max() / 127, name


def test_letters_said_twice_are_the_same_twice():
    draw, generator = repeats(3), torch.Generator().manual_seed(0)
    lengths = set()
    for _ in range(200):
        ids = draw(generator)
        n = ids.shape[1] // 2
        lengths.add(n)
        assert torch.equal(ids[:, :n], ids[:, n:])
    assert lengths == set(range(4, 13))


def test_shakespeare_is_as_it_was_collected():
    text = shakespeare()
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    )
    assert (len(text), text.count("\n")) == (1_115_394, 40_000)
    is_light("shakespeare.txt.xz", (FOLDER / "shakespeare.txt.xz").stat().st_size)


def test_frequent_words_of_the_plays_are_thinned_out():
    """What `seeds.json` says of chapter 1 was measured on these words."""
    words, left = word_vectors.spoken(), word_vectors.subsampled(0)
    for row in json.loads((FOLDER / "seeds.json").read_text("utf-8"))["plays"]:
        assert (row["words"], row["left"]) == (len(words), len(word_vectors.subsampled(row["seed"])))
    assert left.count("the") / words.count("the") == pytest.approx(
        (1e-3 * len(words) / words.count("the")) ** 0.5, rel=0.1
    )
    assert left.count("sword") == words.count("sword")


def test_the_committed_date_reader_reads_dates_it_was_not_taught():
    model, letters = date_reader()
    held_out = Translation(date_pairs(1000, held_out=True), vocabulary=letters)
    assert held_out.exact(model) >= 0.99
    assert to_bytes({"reader": model}, letters="".join(letters.tokens[3:])) == (FOLDER / "date_reader.bin").read_bytes()
    is_light("date_reader.bin", (FOLDER / "date_reader.bin").stat().st_size)


def test_the_committed_transformer_too():
    model, letters = date_transformer()
    held_out = Translation(date_pairs(1000, held_out=True), vocabulary=letters)
    assert held_out.exact(model) >= 0.99
    stored = (FOLDER / "date_transformer.bin").read_bytes()
    assert to_bytes({"writer": model}, letters="".join(letters.tokens[3:]), heads=4) == stored
    is_light("date_transformer.bin", len(stored))


def test_one_head_answers_one_question_and_more_heads_answer_both():
    letters, marks, answers = marked_letters(2000)(torch.Generator().manual_seed(1))
    right = {h: (model(letters, marks).argmax(-1) == answers).float().mean(0) for h, model in finders().items()}
    assert list(right) == [1, 2, 4]
    assert right[1].max() == 1
    assert 0.1 < right[1].min() < 0.15, "the other answer is one letter of eight"
    assert min(right[2].min(), right[4].min()) >= 0.99
    assert to_bytes({f"{h}": model for h, model in finders().items()}) == (FOLDER / "finders.bin").read_bytes()
    assert (marks.sort(-1).values == torch.tensor([0] * 6 + [1, 2])).all()
    for mark, answer in zip((1, 2), answers.T, strict=True):
        assert (letters[marks == mark] == answer).all()


def test_the_committed_layer_understands_both_words_of_a_text_it_was_not_taught():
    new = two_stories(300, seed=5, new=True)
    x_BLD, mask_B1L, places_B2, meanings_B2 = as_tensors(new)
    y_BLD, weights = three_matrices()(x_BLD, mask_B1L)
    assert min(understood(y_BLD, new)) >= 0.99
    assert not weights.masked_select(~mask_B1L).any()
    units = torch.nn.functional.normalize(english_vectors().vectors, dim=-1)
    became_B2D = torch.stack([y[places] for y, places in zip(y_BLD, places_B2, strict=True)])
    by_hand = (became_B2D @ units.T).argmax(-1)
    assert (by_hand == meanings_B2).double().mean() == understood(y_BLD, new)[1]
    stored = (FOLDER / "three_matrices.bin").read_bytes()
    assert to_bytes({"reader": three_matrices()}) == stored
    is_light("three_matrices.bin", len(stored))


def test_what_counts_as_understood():
    """The word's own vector says nothing of its sense; the vector of a meaning says all, unless it is another's."""
    texts = two_stories(200)
    x_BLD, _, places_B2, meanings_B2 = as_tensors(texts)
    assert (became(x_BLD, places_B2)[3, 1] == english_vectors()[texts[3].words[texts[3].places[1]]]).all()
    nearer, nearest = understood(x_BLD, texts)
    assert 0.4 < nearer < 0.6
    assert nearest == 0
    for meanings, share in ((meanings_B2, 1.0), (meanings_B2.flip(1), 0.0)):
        y_BLD = x_BLD.scatter(1, places_B2[..., None].expand(-1, -1, 128), english_vectors().vectors[meanings])
        assert understood(y_BLD, texts)[1] == share


def test_the_words_kept_back_are_in_every_new_sentence_and_in_no_other():
    old, new = (two_stories(500, seed=1, new=new) for new in (False, True))
    assert len(old) == len(new) == 500
    for text in old + new:
        first, second = text.places
        assert {text.words[first], text.words[second]} <= SENSES.keys()
        assert text.words[first] != text.words[second]
        assert all(sense in SENSES[text.words[place]] for sense, place in zip(text.senses, text.places, strict=True))
    assert not any(NEW_WORDS & {*text.words} for text in old)
    assert all(NEW_WORDS & {*text.words[: text.places[1]]} for text in new)
    assert {s for text in old for s in text.senses} == {s for text in new for s in text.senses} == set(MEANINGS)
    assert {word for text in new for word in text.words} >= NEW_WORDS
    assert two_stories(20, seed=3) != two_stories(20, seed=4)
    x_BLD, mask_B1L, *_ = as_tensors(old[:20])
    for text, x, mask in zip(old, x_BLD, mask_B1L, strict=False):
        assert mask.sum() == len(text.words)
        assert (x[: len(text.words)] == english_vectors()[text.words]).all()


def test_the_answer_stands_before_the_star_and_a_small_layer_finds_it():
    letters, stars, answers = letters_with_a_star(500, length=9)(torch.Generator().manual_seed(3))
    assert letters.shape == stars.shape == (500, 9)
    assert (stars.sum(-1) == 1).all()
    assert set(stars.argmax(-1).tolist()) == set(range(1, 9))
    assert (letters[torch.arange(500), stars.argmax(-1) - 1] == answers).all()
    torch.manual_seed(0)
    for kind in KINDS:
        model = Neighbour(kind)
        assert model(letters, stars).shape == (500, 8)
        swapped = torch.arange(9).flip(0)
        same = torch.allclose(model(letters[:, swapped], stars[:, swapped]), model(letters, stars), atol=1e-5)
        assert same == (kind in ("none", "relative", "alibi")), kind  # a fresh relative bias is all zeros
    with pytest.raises(ValueError, match="length must be at least 2, or no letter stands before the star; got 1"):
        letters_with_a_star(3, length=1)
    with pytest.raises(ValueError, match=r"kind must be one of none, sinusoidal, learned, .* got 'rope'"):
        Neighbour("rope")


def test_questions_of_real_words_can_be_asked():
    for pairs in ENGLISH.values():
        for question in questions(pairs):
            assert len({*question}) == 4
            assert all(word in english_vectors() for word in question)
    assert questions("a b; c d; e f")[:3] == [("a", "b", "c", "d"), ("a", "b", "e", "f"), ("c", "d", "a", "b")]
