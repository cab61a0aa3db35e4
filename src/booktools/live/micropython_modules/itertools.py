# What MicroPython's own lacks of itertools, and the rest again.
def count(start=0, step=1):
    while True:
        yield start
        start += step


def cycle(xs):
    xs = list(xs)
    while xs:
        for x in xs:
            yield x


def repeat(x, n=None):
    while n is None or n > 0:
        yield x
        n = None if n is None else n - 1


def islice(xs, *bounds):
    s = slice_of(bounds)
    start, stop, step = s
    for i, x in enumerate(xs):
        if stop is not None and i >= stop:
            return
        if i >= start and (i - start) % step == 0:
            yield x
        if stop is not None and i + 1 >= stop:
            return


def slice_of(bounds):
    if len(bounds) == 1:
        return 0, bounds[0], 1
    return bounds[0] or 0, bounds[1], (bounds[2] if len(bounds) > 2 else None) or 1


def chain(*all):
    for xs in all:
        for x in xs:
            yield x


def product(*all, repeat=1):
    found = [()]
    for xs in all * repeat:
        xs = list(xs)
        found = [t + (x,) for t in found for x in xs]
    return iter(found)


def permutations(xs, r=None):
    xs = tuple(xs)
    r = len(xs) if r is None else r
    if r == 0:
        yield ()
        return
    for i in range(len(xs)):
        for rest in permutations(xs[:i] + xs[i + 1 :], r - 1):
            yield (xs[i],) + rest


def combinations(xs, r):
    xs = tuple(xs)
    if r == 0:
        yield ()
        return
    for i in range(len(xs)):
        for rest in combinations(xs[i + 1 :], r - 1):
            yield (xs[i],) + rest


def accumulate(xs, f=lambda a, b: a + b):
    total = None
    for i, x in enumerate(xs):
        total = f(total, x) if i else x
        yield total


def pairwise(xs):
    xs = list(xs)
    return zip(xs, xs[1:])


def starmap(f, xs):
    for x in xs:
        yield f(*x)


def takewhile(holds, xs):
    for x in xs:
        if not holds(x):
            return
        yield x


def dropwhile(holds, xs):
    xs = iter(xs)
    for x in xs:
        if not holds(x):
            yield x
            break
    yield from xs


def zip_longest(*all, fillvalue=None):
    all = [list(xs) for xs in all]
    for i in range(max([len(xs) for xs in all] + [0])):
        yield tuple([xs[i] if i < len(xs) else fillvalue for xs in all])
