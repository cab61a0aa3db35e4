# What a value may be asked to be.
Sequence = (list, tuple, range, str)
Callable = Iterable = Iterator = Mapping = object
