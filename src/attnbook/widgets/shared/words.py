"""A trait for one of the 8,000 words that have vectors."""

import traitlets

from attnbook.data import english_vectors


class Word(traitlets.Unicode):
    """A word of `english_vectors`, or else the default, which may be no word."""

    def validate(self, obj, value) -> str:
        word = super().validate(obj, value)
        if word != self.default_value:
            try:
                english_vectors()[word]
            except KeyError as unknown:
                raise traitlets.TraitError(unknown.args[0]) from None
        return word
