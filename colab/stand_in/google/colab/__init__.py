"""Stands in for Colab's own module in a rehearsal: it holds what widgets look for, and nothing else."""

from google.colab import output as output


def load_ipython_extension(shell):
    """Colab's kernel loads this module before any cell runs; that is all a widget needs to know where it is."""
