# The edition's words and how it writes numbers, sent with a check.
WORDS = {}


def words(folder):
    return WORDS[folder]


def _written(digits):
    marks = WORDS["attnbook"]["number"]
    named = {".": marks["decimal"], ",": marks["group"], "-": marks["minus"]}
    return "".join([named.get(c, c) for c in digits])


def number(x, digits=2):
    text = ("%." + str(digits) + "f") % x
    if not text.strip("-0."):
        text = text.lstrip("-")
    return _written(text.replace("inf", "∞").replace("nan", "NaN"))


def whole(n):
    digits, dot, rest = str(abs(n)).partition(".")
    groups = []
    while len(digits) > 3:
        groups.insert(0, digits[-3:])
        digits = digits[:-3]
    return _written(("-" if n < 0 else "") + ",".join([digits] + groups) + dot + rest)
