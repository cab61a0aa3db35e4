"""Names that look like other names, but are not the same: a blank in front, a Cyrillic а, an ë of two characters."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

# Letters of other alphabets that are drawn like Latin ones.
DRAWN_LIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХЗаеѕіјорсухһԁԛԝӏ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαινορυχϲ",
    "ABESIJKMHOPCTYX3aesijopcyxhdqwl" + "ABEZHIKMNOPTYXaivopuxc",
)


def plain_name(name: str) -> str:
    r"""Returns a name without what cannot be seen in it.

    >>> plain_name(" ada\u200b "), plain_name("Zoe\u0308") == "Zo\xeb"
    ('ada', True)
    """
    seen = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFC", " ".join(seen.split())) or name


def look_alikes(names: Iterable[str]) -> dict[str, list[str]]:
    r"""Returns the names that imitate others, each with those that it looks like.

    The real one among names that look alike is plain, and in letters of one alphabet; of several such names the one in
    ASCII. Where that leaves no single one, nobody knows which is real, and all of them are returned.

    >>> look_alikes(["ada", " ada", "bob", "\u0430da"])
    {' ada': ['ada'], '\u0430da': ['ada']}
    >>> look_alikes(["ada", "Ada", "zoe", "zo\xeb"])
    {}
    """
    alike = defaultdict(list)
    for name in dict.fromkeys(names):
        alike[unicodedata.normalize("NFKC", plain_name(name)).translate(DRAWN_LIKE)].append(name)
    found = {}
    for group in alike.values():
        plain = [name for name in group if name == plain_name(name) and len(_alphabets(name)) < 2]
        (real,) = plain if len(plain) == 1 else [name for name in plain if name.isascii()] or [None]
        for name in group:
            if len(group) > 1 and name != real:
                found[name] = [real] if real else [other for other in group if other != name]
    return found


def _alphabets(name: str) -> set[str]:
    r"""
    >>> sorted(_alphabets("\u0430da 1"))
    ['CYRILLIC', 'LATIN']
    """
    return {unicodedata.name(sign, "?").partition(" ")[0] for sign in name if sign.isalpha()}
