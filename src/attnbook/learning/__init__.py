"""What learns and what measures: texts as numbers, training, word vectors, the costs of a layer."""
