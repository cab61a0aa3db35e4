"""An edition's words, and its files of them: a translation says what English says, with the same in its gaps."""

import json
import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from attnbook import language
from attnbook.language import PLURALS, count, day, is_plural, number, speaking, whole, words
from tests import ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "src").rglob("en.json"))


def faults(english, translated, name="") -> list[str]:
    """What is wrong with the words of a translation."""
    if type(english) is not type(translated):
        return [f"{name} must be {'a text' if isinstance(english, str) else 'as in English'}"]
    if isinstance(english, str):
        return [] if gaps(english) == gaps(translated) else [f"{name} needs the gaps {sorted(gaps(english))}"]
    if isinstance(english, list):
        return faults_of_list(english, translated, name)
    if is_plural(english):
        return faults_of_plural(english, translated, name)
    unknown = [f"{name}.{key} is no text of English" for key in translated if key not in english]
    known = [key for key in translated if key in english]
    return unknown + [fault for key in known for fault in faults(english[key], translated[key], f"{name}.{key}")]


def faults_of_list(english, translated, name) -> list[str]:
    """A list of texts has as many; of sizes and their names, each language has its own (ten thousand, a lakh)."""
    if isinstance(english[0], str):
        return [] if len(english) == len(translated) else [f"{name} needs {len(english)} texts"]
    return [fault for size, text in translated for fault in faults(english[0][1], text, f"{name}.{size}")]


def faults_of_plural(english, translated, name) -> list[str]:
    """How many forms there are is the language's own affair; a form may leave out the number."""
    needed = set().union(*map(gaps, english.values()))
    wrong = [form for form, text in translated.items() if form not in PLURALS or not gaps(text) <= needed]
    found = [f"{name}.{form} is no plural, or has other gaps" for form in wrong]
    return found if gaps(translated.get("other", "")) == needed else [*found, f"{name}.other needs {sorted(needed)}"]


def gaps(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_translations_say_what_english_says(folder):
    english = read(folder / "en.json")
    for path in folder.glob("*.json"):
        assert faults(english, read(path), path.stem) == []


ENGLISH = {
    "title": "Weights",
    "of": "{n} of {all}",
    "months": ["May", "June"],
    "tokens": {"one": "1 token", "other": "{n} tokens"},
    "group": {"back": "Back"},
    "sizes": [[1e6, "{x} million"], [1e3, "{x} thousand"]],
}


@pytest.mark.parametrize(
    ("translated", "found"),
    [
        ({"title": "权重", "of": "{all} 个中的 {n} 个", "tokens": {"other": "{n} 个词"}, "months": ["五", "六"]}, []),
        ({"tokens": {"one": "{n} 词", "few": "{n} 词", "other": "{n} 词"}}, []),
        ({"sizes": [[1e4, "{x}万"]]}, []),
        ({"sizes": [[1e4, "万"]]}, ["zh.sizes.10000.0 needs the gaps ['x']"]),
        ({"titel": "权重"}, ["zh.titel is no text of English"]),
        ({"group": {"forward": "前"}}, ["zh.group.forward is no text of English"]),
        ({"of": "{n} 个"}, ["zh.of needs the gaps ['all', 'n']"]),
        ({"title": "权重 {n}"}, ["zh.title needs the gaps []"]),
        ({"group": "前"}, ["zh.group must be as in English"]),
        ({"title": {"a": "权重"}}, ["zh.title must be a text"]),
        ({"months": ["五"]}, ["zh.months needs 2 texts"]),
        ({"tokens": {"other": "词"}}, ["zh.tokens.other needs ['n']"]),
        ({"tokens": {"any": "词", "other": "{n} 词"}}, ["zh.tokens.any is no plural, or has other gaps"]),
    ],
)
def test_faults_of_a_translation_are_noticed(translated, found):
    assert faults(ENGLISH, translated, "zh") == found


def test_an_edition_says_in_english_what_its_translation_lacks(tmp_path):
    shutil.copy(language.HERE / "en.json", tmp_path)
    (tmp_path / "zh.json").write_text('{"language": "zh", "date": "{year}年{month}{day}日"}', "utf-8")
    with speaking("zh-Hans"):
        said = words(tmp_path)
    assert said["language"] == "zh"
    assert said["date"].format(year=2026, month="5月", day=1) == "2026年5月1日"
    assert said["months"][4] == "May"


def test_a_plural_has_the_forms_of_its_language_alone(tmp_path):
    (tmp_path / "en.json").write_text('{"found": {"one": "{n} word", "other": "{n} words"}}', "utf-8")
    (tmp_path / "zh.json").write_text('{"found": {"other": "{n} 个词"}}', "utf-8")
    with speaking("zh"):
        assert count(words(tmp_path)["found"], 1) == "1 个词"


def test_numbers_and_dates_are_written_as_the_language_does(tmp_path, monkeypatch):
    english = read(language.HERE / "en.json")
    german = english | {"number": {"decimal": ",", "group": ".", "minus": "−"}, "date": "{day}. {month} {year}"}
    (tmp_path / "en.json").write_text(json.dumps(german), "utf-8")
    monkeypatch.setattr(language, "HERE", tmp_path)
    assert (number(-1234.5, 1), whole(1234567), day(date(2026, 5, 1))) == ("−1234,5", "1.234.567", "1. May 2026")
    assert count({"one": "{n} Punkt", "other": "{n} Punkte"}, 2.5) == "2,5 Punkte"
