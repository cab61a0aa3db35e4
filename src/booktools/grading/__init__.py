"""Proofs that an assignment's tests can fail, and grades for a class.

Students' code runs in a sandbox; the tests stay outside it.
"""

from pathlib import Path

from attnbook.language import words

HERE = Path(__file__).parent


def say(name: str, /, **gaps) -> str:
    """What the grader tells a student, in the language spoken now."""
    return words(HERE)[name].format(**gaps)
