# MicroPython's own, and a Counter that keeps its order.
from ucollections import OrderedDict, deque, namedtuple


class Counter:
    def __init__(self, items=()):
        self.counts = OrderedDict()
        for x in items:
            self.counts[x] = self[x] + 1

    def __getitem__(self, x):
        return self.counts.get(x, 0)

    def __setitem__(self, x, n):
        self.counts[x] = n

    def __contains__(self, x):
        return x in self.counts

    def __len__(self):
        return len(self.counts)

    def __iter__(self):
        return iter(list(self.counts))

    def __sub__(self, other):
        left = Counter()
        for x, n in self.counts.items():
            if n > other[x]:
                left[x] = n - other[x]
        return left

    def __eq__(self, other):
        return isinstance(other, Counter) and dict(self.counts) == dict(other.counts)

    def get(self, x, default=None):
        return self.counts.get(x, default)

    def items(self):
        return self.counts.items()

    def values(self):
        return self.counts.values()

    def keys(self):
        return self.counts.keys()

    def update(self, items):
        for x in items:
            self.counts[x] = self[x] + 1

    def most_common(self, n=None):
        return sorted(self.counts.items(), key=lambda pair: -pair[1])[:n]


class defaultdict(OrderedDict):
    def __init__(self, make=None):
        super().__init__()
        self.make = make

    def __getitem__(self, key):
        if key not in self:
            self[key] = self.make()
        return super().__getitem__(key)
