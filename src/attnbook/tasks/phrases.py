"""English phrases and the same in French, where words change places and agree with others that may be far away.

>>> for pair in phrase_pairs(4):
...     print(f"{pair.source:45}{pair.target}")
these cats follow a small cat                ces chats suivent un petit chat
my small mouse follows her                   ma petite souris la suit
my ant forgets my pupils                     ma fourmi oublie mes élèves
the green mouse sings                        la souris verte chante

*The* is le, la, l' or les, by gender, number and the sound that follows. A colour stands behind its noun, *small* and
*old* in front; both agree with it, and the verb with its subject. *Him* moves in front of the verb, *not* goes around
it, and a cat that is not seen is no longer un chat but de chat. As in other texts made for translation, a word cut
short, such as l' or n', stands by itself.
"""

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeVar

Determiner = Literal["the", "a", "this", "my"]


class Noun(NamedTuple):
    """The English word, one and several; the French one, and f where that is feminine."""

    one: str
    several: str
    un: str
    plusieurs: str
    gender: str


class Adjective(NamedTuple):
    """English; French for a masculine noun, one that begins with a vowel, several; and for a feminine one."""

    english: str
    masculine: str
    before_vowel: str
    plural: str
    feminine: str


class Verb(NamedTuple):
    """One cat sleeps, several sleep; un chat dort, plusieurs dorment."""

    one: str
    several: str
    un: str
    plusieurs: str


_Row = TypeVar("_Row", Noun, Adjective, Verb)


def _rows(kind: type[_Row], table: str) -> list[_Row]:
    return [kind(*row.split()) for row in table.split(";")]


PEOPLE = _rows(
    Noun,
    """
    pupil pupils élève élèves m; child children enfant enfants m; king kings roi rois m; sister sisters sœur sœurs f;
    princess princesses princesse princesses f; actress actresses actrice actrices f
    """,
)
ANIMALS = _rows(
    Noun,
    """
    cat cats chat chats m; bird birds oiseau oiseaux m; horse horses cheval chevaux m; mouse mice souris souris f;
    ant ants fourmi fourmis f
    """,
)
THINGS = _rows(
    Noun,
    """
    tree trees arbre arbres m; book books livre livres m; hotel hotels hôtel hôtels m; house houses maison maisons f;
    flower flowers fleur fleurs f; church churches église églises f; island islands île îles f
    """,
)
SIZES = _rows(
    Adjective,
    """
    small petit petit petits petite; big grand grand grands grande; old vieux vieil vieux vieille;
    new nouveau nouvel nouveaux nouvelle; beautiful beau bel beaux belle
    """,
)
COLOURS = _rows(
    Adjective,
    """
    black noir noir noirs noire; white blanc blanc blancs blanche; green vert vert verts verte;
    red rouge rouge rouges rouge; blue bleu bleu bleus bleue
    """,
)
VERBS = _rows(
    Verb,
    """
    sees see voit voient; finds find trouve trouvent; follows follow suit suivent; loves love aime aiment;
    hears hear entend entendent; forgets forget oublie oublient
    """,
)
VERBS_ALONE = _rows(
    Verb,
    """
    sleeps sleep dort dorment; sings sing chante chantent; runs run court courent; arrives arrive arrive arrivent
    """,
)

NOUNS, ADJECTIVES = PEOPLE + ANIMALS + THINGS, SIZES + COLOURS


class NounPhrase(NamedTuple):
    """The small black cat, le petit chat noir."""

    determiner: Determiner
    noun: Noun
    several: bool = False
    size: Adjective | None = None
    colour: Adjective | None = None

    def english(self, denied: bool = False) -> str:
        adjectives = [adjective.english for adjective in (self.size, self.colour) if adjective]
        words = [*adjectives, self.noun.several if self.several else self.noun.one]
        match self.determiner:
            case "a" if self.several:
                first = "any" if denied else "some"
            case "a":
                first = "an" if words[0][0] in "aeiou" else "a"
            case "this" if self.several:
                first = "these"
            case same:
                first = same
        return " ".join([first, *words])

    def french(self, denied: bool = False) -> str:
        noun = self.noun.plusieurs if self.several else self.noun.un
        words = [self._agreeing(self.size), noun, self._agreeing(self.colour)]
        words = [word for word in words if word]
        vowel, feminine = _begins_with_vowel(words[0]), self.noun.gender == "f"
        match self.determiner:
            case "a" if denied or (self.several and self.size):
                first = "d'" if vowel else "de"
            case "a":
                first = "des" if self.several else "une" if feminine else "un"
            case "the":
                first = "les" if self.several else "l'" if vowel else "la" if feminine else "le"
            case "this":
                first = "ces" if self.several else "cette" if feminine else "cet" if vowel else "ce"
            case "my":
                first = "mes" if self.several else "ma" if feminine and not vowel else "mon"
        return " ".join([first, *words])

    def _agreeing(self, adjective: Adjective | None) -> str:
        if adjective is None:
            return ""
        if self.noun.gender == "f":
            return adjective.feminine + "s" * self.several
        if self.several:
            return adjective.plural
        return adjective.before_vowel if _begins_with_vowel(self.noun.un) else adjective.masculine


class Phrase(NamedTuple):
    """Who does (not) do something, perhaps to someone: another noun phrase, or him, her or them."""

    subject: NounPhrase
    verb: Verb
    denied: bool = False
    object: NounPhrase | str | None = None

    def english(self) -> str:
        several = self.subject.several
        if self.denied:
            does = f"{'do' if several else 'does'} not {self.verb.several}"
        else:
            does = self.verb.several if several else self.verb.one
        whom = self.object.english(self.denied) if isinstance(self.object, NounPhrase) else self.object
        return " ".join(filter(None, [self.subject.english(), does, whom]))

    def french(self) -> str:
        verb = self.verb.plusieurs if self.subject.several else self.verb.un
        before, after = "", ""
        if isinstance(self.object, NounPhrase):
            after = self.object.french(self.denied)
        elif self.object:
            cut = _begins_with_vowel(verb) and self.object != "them"
            before = "l'" if cut else {"him": "le", "her": "la", "them": "les"}[self.object]
        if self.denied:
            not_ = "n'" if _begins_with_vowel(before or verb) else "ne"
            before, after = f"{not_} {before}", f"pas {after}"
        return " ".join(f"{self.subject.french()} {before} {verb} {after}".split())

    def is_held_out(self) -> bool:
        """Whether it joins a noun to an adjective that are kept apart in training, one in five."""
        nouns = [self.subject, self.object] if isinstance(self.object, NounPhrase) else [self.subject]
        return any(
            (NOUNS.index(phrase.noun) + ADJECTIVES.index(adjective)) % 5 == 0
            for phrase in nouns
            for adjective in (phrase.size, phrase.colour)
            if adjective
        )


class PhrasePair(NamedTuple):
    """A phrase in English, and in French."""

    source: str
    target: str


def phrase_pairs(count: int, seed: int = 0, *, held_out: bool = False) -> list[PhrasePair]:
    """So many phrases at random.

    One in five joins of a noun and an adjective is held out: a phrase drawn with `held_out` has one at least, and
    without, none. Both words are met in training, each with others.
    """
    rng = random.Random(seed)
    pairs = []
    while len(pairs) < count:
        phrase = _draw(rng)
        if phrase.is_held_out() == held_out:
            pairs.append(PhrasePair(phrase.english(), phrase.french()))
    return pairs


def new_and_control(
    taught: Iterable[PhrasePair], count: int, seed: int = 1
) -> tuple[list[PhrasePair], list[PhrasePair]]:
    """So many phrases with a join that is held out, and as many without; no two are the same, and none was taught.

    The control has, phrase by phrase, as many words and as many adjectives as the first: only the joins differ.

    >>> taught = phrase_pairs(1000)
    >>> new, control = new_and_control(taught, 3)
    >>> [len(pair.source.split()) for pair in new] == [len(pair.source.split()) for pair in control]
    True
    """
    known = {pair.source for pair in taught}
    new = list(dict.fromkeys(phrase_pairs(20 * count, seed, held_out=True)))[:count]
    of_size = defaultdict(list)
    for pair in dict.fromkeys(phrase_pairs(60 * count, seed)):
        if pair.source not in known:
            of_size[_size(pair)].append(pair)
    return new, [of_size[_size(pair)].pop() for pair in new]


def _size(pair: PhrasePair) -> tuple[int, int]:
    """How many words, how many of them adjectives."""
    words, adjectives = pair.source.split(), {adjective.english for adjective in ADJECTIVES}
    return len(words), sum(word in adjectives for word in words)


def _draw(rng: random.Random) -> Phrase:
    def noun_phrase(nouns: list[Noun]) -> NounPhrase:
        determiner: Determiner = rng.choice(["the", "the", "a", "this", "my"])
        noun, several = rng.choice(nouns), rng.random() < 0.4
        size = rng.choice(SIZES) if rng.random() < 0.4 else None
        colour = rng.choice(COLOURS) if rng.random() < 0.4 and noun not in PEOPLE else None
        return NounPhrase(determiner, noun, several, size, colour)

    subject, denied = noun_phrase(PEOPLE + ANIMALS), rng.random() < 0.3
    if rng.random() < 0.25:
        return Phrase(subject, rng.choice(VERBS_ALONE), denied)
    whom = rng.choice(["him", "her", "them"]) if rng.random() < 0.3 else noun_phrase(NOUNS)
    return Phrase(subject, rng.choice(VERBS), denied, whom)


def _begins_with_vowel(word: str) -> bool:
    """Also by sound: the h of hôtel is silent."""
    return word[0] in "aeiouhéî"
