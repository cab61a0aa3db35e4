"""What chapters measure once or not at all is measured here with several seeds: seeds.json has what came of it.

A function measures under one name, for one seed; the docstring of its module says what is in the name's rows.

plays                                             chapter 1: word_vectors.py
numbers, rates_4, readers, readers_slower         chapter 4: recurrent.py
joint, deep, copiers, wider                       chapter 6: heads.py
places                                            chapter 8: positions.py
phrases, dates, rates                             chapter 9: transformers.py
vocabularies, parts, sizes, loops, twice          chapter 11: small_models.py
head_kinds, copying, said_twice, sink, names, facts
                                                  chapter 12: real_heads.py
windows, silent, loud, lengths, experts, recall   chapter 13: today.py
images, orders, looks, questions, pairs, counts, reach
                                                  chapters 14 and 15: beyond_text.py
listeners, without                                chapter 15: tones.py
"""
