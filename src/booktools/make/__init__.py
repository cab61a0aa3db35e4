"""Scripts that make the files of attnbook/data: `python -m booktools.make.words`."""
