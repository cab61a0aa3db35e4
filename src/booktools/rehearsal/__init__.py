"""Every notebook of the built site, run as somebody in Colab would run it."""
