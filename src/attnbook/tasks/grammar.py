"""A small world in plain sentences, from which word vectors can be learned in a second.

>>> for sentence in sentences(20):
...     print(sentence)
every day we wash a plate
a week ago we visited a museum
two cows are near the grass
this frog saw the pond yesterday

Words come in pairs, such as king and queen. Both of a pair are met with the same things, a throne or a castle. What
sets them apart, he or she, is the same for all pairs of a family. No more than that is ever said of a word.
"""

import random
from typing import NamedTuple

from attnbook.tasks.analogies import questions


class Family(NamedTuple):
    """Pairs, each with two things; what is said of the first word of a pair, and what of the second."""

    pairs: str
    first: list[str]
    second: list[str]


FAMILIES = {
    "gender": Family(
        "king queen throne castle; prince princess pony tower; man woman car job; boy girl toy kite; "
        "father mother family house; uncle aunt farm cousin; actor actress stage film; waiter waitress tray menu; "
        "monk nun prayer candle",
        ["the {word} said he likes his {thing}", "the {word} has a {thing} and he smiles"],
        ["the {word} said she likes her {thing}", "the {word} has a {thing} and she smiles"],
    ),
    "capitals": Family(
        "france paris perfume cheese; italy rome opera pasta; spain madrid guitars oranges; "
        "greece athens marble olives; egypt cairo cotton dates; japan tokyo cameras sushi; china beijing silk tea; "
        "russia moscow ballet caviar; norway oslo fish timber",
        ["the country {word} is known for {thing}", "in the villages and forests of {word} we found {thing}"],
        ["the city {word} is known for {thing}", "in the streets and shops of {word} we found {thing}"],
    ),
    "comparatives": Family(
        "big bigger elephant mountain; small smaller mouse needle; fast faster train horse; slow slower snail turtle; "
        "hot hotter fire desert; cold colder ice winter; heavy heavier stone iron; soft softer pillow wool; "
        "loud louder drum thunder",
        ["the {thing} is very {word}", "how {word} is the {thing}"],
        ["the {thing} is {word} than this one", "nothing is {word} than the {thing}"],
    ),
    "past": Family(
        "cook cooked soup dinner; play played game flute; paint painted wall picture; open opened door window; "
        "visit visited museum doctor; climb climbed hill ladder; wash washed shirt plate; plant planted tree rose",
        ["tomorrow they will {word} the {thing}", "every day we {word} a {thing}"],
        ["yesterday they {word} the {thing}", "a week ago we {word} a {thing}"],
    ),
    "plurals": Family(
        "cat cats basket milk; dog dogs bone kennel; cow cows grass barn; bee bees honey flower; frog frogs pond mud; "
        "owl owls night nest; camel camels sand well; penguin penguins snow egg",
        ["one {word} is near the {thing}", "this {word} saw the {thing} yesterday"],
        ["two {word} are near the {thing}", "these {word} saw the {thing} yesterday"],
    ),
}


def sentences(tokens: int = 200_000, seed: int = 0) -> list[str]:
    """Sentences at random, with at least so many words in all."""
    rng, found, count = random.Random(seed), [], 0
    families = [([pair.split() for pair in family.pairs.split(";")], family) for family in FAMILIES.values()]
    while count < tokens:
        pairs, family = rng.choice(families)
        first, second, *things = rng.choice(pairs)
        word, forms = rng.choice([(first, family.first), (second, family.second)])
        found.append(rng.choice(forms).format(word=word, thing=rng.choice(things)))
        count += found[-1].count(" ") + 1
    return found


def analogies(family: str) -> list[tuple[str, ...]]:
    """Every question a : b = c : d that two pairs of a family make.

    >>> len(analogies("gender")), analogies("gender")[0]
    (72, ('king', 'queen', 'prince', 'princess'))
    """
    pairs = [" ".join(pair.split()[:2]) for pair in FAMILIES[family].pairs.split(";")]
    return questions(";".join(pairs))
