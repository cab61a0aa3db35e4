"""Notebooks run: to store what they print, as other processors would, as somebody in Colab would."""
