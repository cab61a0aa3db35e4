"""Scripts that make files which are kept in the repository, and are run by hand when what they depend on changes.

words, vectors, word_map, first, real_model    files of attnbook/data, from word vectors and a published model
networks                                       the same, weights of networks that are trained for widgets
seeds                                          the same, what chapters measure with several seeds
site                                           pictures and heights for the site
stub                                           attnbook/__init__.pyi, for type checkers

    python -m booktools.make.words
"""
