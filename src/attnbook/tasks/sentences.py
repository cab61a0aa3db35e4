"""Sentences in which one word can't be understood alone: bank, whose neighbours say which, and it, which is another.

>>> for sentence in two_senses(3):
...     print(f"{sentence.sense:8}{sentence.text}")
factory engineers at the plant built engines
game    the team won the match by two goals
metal   the spring in the machine is loose
>>> for sentence in references(2):
...     print(f"it = {sentence.text.split()[sentence.noun]:8}{sentence.text}")
it = stone   the robot could not carry the stone because it was too heavy
it = cat     the cat ate the bread because it was desperate

All words have vectors in `english_vectors`.
"""

import random
from typing import NamedTuple

SENSES = {  # of a word: one of the words between slashes, one of the sentences between semicolons
    "bank": {
        "river": "the boy/soldier/farmer sat/slept/walked on the bank of the river/stream/lake; "
        "trees/flowers grow on the wet/green bank near the water/bridge",
        "money": "the bank gave/refused her/him/them another loan/credit; "
        "he/she/they paid/put the money/cash into an account at the bank",
    },
    "bat": {
        "animal": "one bat flew/hung in the dark/cold cave at night; the bat flies after insects when it is dark",
        "club": "the player/boy/girl hit the ball with the bat; she/he swung the wooden/heavy bat at the ball",
    },
    "spring": {
        "season": "the birds return/sing in early/late spring; trees/flowers grow every spring after winter",
        "metal": "the spring in the lock/watch/machine is broken/loose; one steel/metal spring holds the door/gate",
    },
    "plant": {
        "green": "the plant needs water/light/soil to grow; the leaves of the plant are green/dry/yellow",
        "factory": "workers/engineers at the plant built cars/engines/trucks; "
        "the steel/power/chemical plant fired workers/engineers",
    },
    "match": {
        "game": "the team/club won/lost the match by two goals/points; fans/players left the stadium after the match",
        "fire": "he/she lit the fire/lamp/cigarette with one match; the match burned and the fire/lamp went out",
    },
}
REFERENCES = [  # two nouns; endings by which `it` is the first, and by which it is the second
    (
        "the animal/dog/horse did not cross the street/river/road because it was too",
        "tired/weak",
        "wide/dangerous",
    ),
    ("the piano/statue/table did not fit through the door/gate/window because it was too", "big/tall", "small/narrow"),
    ("the cat/bird/dog ate the fish/bread/meat because it was", "hungry/desperate", "fresh/soft"),
    ("the horse/robot/monkey could not carry the box/stone/table because it was too", "weak/tired", "heavy/large"),
]


class TwoSenses(NamedTuple):
    """A sentence, the position among its words of the one with two senses, and which it has here."""

    text: str
    place: int
    sense: str


class Reference(NamedTuple):
    """A sentence, and the positions among its words of `it` and of the noun that it stands for."""

    text: str
    place: int
    noun: int


def two_senses(count: int, seed: int = 0, *, word: str | None = None) -> list[TwoSenses]:
    """So many sentences at random, about any of the words or a certain one; each of its senses is as likely."""
    if word not in (None, *SENSES):
        raise ValueError(f"no sentences about {word!r}; there are some about {', '.join(SENSES)}.")
    rng, found = random.Random(seed), []
    for _ in range(count):
        about = word or rng.choice(list(SENSES))
        sense, texts = rng.choice(list(SENSES[about].items()))
        words = _said(rng, rng.choice(texts.split("; ")))
        found.append(TwoSenses(" ".join(words), words.index(about), sense))
    return found


def references(count: int, seed: int = 0) -> list[Reference]:
    """So many sentences at random, in which it is the first of two nouns as often as the second."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        text, *endings = rng.choice(REFERENCES)
        which = rng.randrange(2)
        nouns = [place for place, word in enumerate(text.split()) if "/" in word]
        words = _said(rng, f"{text} {endings[which]}")
        found.append(Reference(" ".join(words), words.index("it"), nouns[which]))
    return found


def _said(rng: random.Random, text: str) -> list[str]:
    return [rng.choice(word.split("/")) for word in text.split()]
