class _Any:
    def __getitem__(self, _):
        return self

    def __or__(self, _):
        return self


Any = Callable = Optional = Union = Iterable = Iterator = Sequence = List = Dict = Tuple = _Any()
TYPE_CHECKING = False
SupportsFloat = SupportsInt = (int, float)
