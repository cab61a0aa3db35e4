"""Questions a : b = c : d, from pairs of words that differ in the same way."""

from itertools import permutations

ENGLISH = {  # for english_vectors
    "gender": "man woman; king queen; boy girl; father mother; son daughter; brother sister; husband wife; uncle aunt; "
    "actor actress; prince princess; grandfather grandmother; he she",
    "capitals": "france paris; italy rome; spain madrid; japan tokyo; germany berlin; russia moscow; england london; "
    "china beijing; egypt cairo; poland warsaw",
    "comparatives": "big bigger; small smaller; fast faster; old older; young younger; long longer; strong stronger; "
    "high higher; low lower; hard harder",
    "past": "walk walked; play played; work worked; open opened; look looked; call called; talk talked",
    "plurals": "cat cats; dog dogs; car cars; house houses; book books; hand hands; bird birds",
}


def questions(pairs: str) -> list[tuple[str, ...]]:
    """Every question that two of the pairs make, in both orders.

    >>> questions("man woman; king queen")
    [('man', 'woman', 'king', 'queen'), ('king', 'queen', 'man', 'woman')]
    """
    return [(*one, *other) for one, other in permutations([tuple(pair.split()) for pair in pairs.split(";")], 2)]
