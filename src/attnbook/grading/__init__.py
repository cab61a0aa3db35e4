"""Assignments: student copies, proofs that their tests can fail, and grades for a class.

The sources are notebooks in nbgrader's format. Students' code runs in a sandbox; the tests stay outside it.
"""

from attnbook.editions import BookError


class GradingError(BookError):
    """Something in an assignment, a folder or this machine keeps us from grading; the message says what to try."""
