# A check of the book, run on what a reader wrote.
import io
import sys

import _tensors
import plain
import torch

from attnbook import language
from attnbook.checks import judging


class Checks:
    """A reader may leave the line that asks for a check: the page asks by itself."""

    def __getattr__(self, name):
        return lambda answer: None


def show(x):
    """Draws the last two axes of a tensor, or of what can be one."""
    _tensors.draw(torch.as_tensor(x)._h, "shown", "", "")


SIDE = 24  # of the largest picture that shows all
BEST = []  # of what was compared: how well it is drawn, the tensor, what it is, its axes
CALLS = []  # what the answer was given, and what it returned
_call, _compare = judging.call, judging.compare


def call(answer, *inputs):
    """The book's own, remembered."""
    got = _call(answer, *inputs)
    CALLS.append((inputs, got))
    return got


def compare(case, got, want, axes, hint):
    """The book's own. What it finds wrong is drawn, beside what is right and what was put in; and what it finds right
    is remembered, if it is the largest map of weights that can be drawn."""
    try:
        _compare(case, got, want, axes, hint)
    except judging.Wrong:
        draw_wrong(judging.named(case), got, want, axes)
        raise
    if got.ndim > 1 and got.shape[-1] <= SIDE and got.shape[-2] <= SIDE:
        worth = axes[-2:] == ("query", "key"), got.shape[-1] * got.shape[-2]
        if not BEST or worth > BEST[0]:
            names = language.words(judging.HERE)["axes"]
            BEST[:] = worth, got, judging.named(case), " ".join([names[axis] for axis in axes[-2:]])


def draw_wrong(what, got, want, axes):
    if not isinstance(got, torch.Tensor) or got.shape != want.shape or not 0 < got.ndim < 5:
        return
    names = language.words(judging.HERE)["axes"]
    last = " ".join([names[axis] for axis in axes[-2:]])
    wrong = ~judging.close(got, want)
    _tensors.draw(want._h, "wanted", what, last, wrong._h)
    _tensors.draw(got._h, "yours", what, last, wrong._h)
    for inputs, returned in CALLS:
        if returned is got or isinstance(returned, tuple) and any([part is got for part in returned]):
            for place, given in enumerate(inputs):
                if isinstance(given, torch.Tensor) and given.ndim:
                    _tensors.draw(given._h, "given", (PARAMETERS + [""] * 9)[place], "")


PARAMETERS = []  # the names of what the answer is given, as the reader wrote them


def named_parameters(code, name):
    """Those of a function, as far as they stand in code without brackets of their own."""
    _, found, after = code.partition("def " + name + "(")
    inside = after.split(")")[0] if found else ""
    return [part.split(":")[0].split("=")[0].strip() for part in inside.split(",")]


judging.call, judging.compare = call, compare

# What MicroPython has otherwise, in a reader's code; and what the source of a check asks for beside that.
PYTHON = {
    "check": Checks(),
    "show": show,
    "float": plain.number,
    "isinstance": plain.is_one,
    "max": plain.largest,
    "min": plain.smallest,
    "slice": plain.bounds,
    "sorted": plain.in_order,
    "zip": plain.together,
    "_into": plain.into,
    "_text": plain.text,
    "NotImplementedError": plain.NotImplementedError,
}
GIVEN = dict(PYTHON)
for _helper in ("page_because", "page_cut", "page_ordered", "page_stepped"):
    GIVEN[_helper] = getattr(plain, _helper)
SPACE = {}  # the check's
SENT = {}


def prepare(sent):
    SPACE.clear()
    SENT.update(sent)
    for folder, groups in sent["words"].items():
        language.WORDS[folder] = {group: plain.page_ordered(texts) for group, texts in groups.items()}
    SPACE.update(GIVEN)
    SPACE.update({"__name__": "check", "tensors": [torch.Tensor(_tensors.kept(i)) for i in range(sent["tensors"])]})
    if "check" in sent:
        exec(compile(sent["source"], "<check>", "exec"), SPACE)


def judge(answer):
    """Whether it is right, and the sentence; and what was raised, if anything."""
    BEST.clear()
    CALLS.clear()
    plain.causes.clear()
    try:
        SPACE[SENT["check"]](answer)
    except judging.Wrong as wrong:
        return False, str(wrong), plain.causes[-1] if plain.causes else None
    except Exception as error:
        text = str(error).split("\n")[0]
        return False, judging.say("stranger", kind=type(error).__name__, error=text), error
    if BEST:
        _, best, what, axes = BEST
        _tensors.draw(best._h, "yours", what, axes)
    return True, judging.say("correct"), None


def run(code, name, given, above):
    """The verdict on a reader's code; without the name of what is checked, it is only run."""
    torch.lacked.clear()
    return verdict(code, name, given, above) if name else played(code, above)


def played(code, above):
    """Runs code after what it needs of the cells above it, and prints the value of its last line as a notebook does."""
    space = dict(GIVEN, __name__="reader", tensors=[x.clone() for x in SPACE["tensors"]])
    try:
        for text in [SENT["source"]] + [text for _, text in above]:
            exec(compile(text, "<above>", "exec"), space)
        lines = code.rstrip().split("\n")
        last = max([i for i, line in enumerate(lines) if line and line[0] not in " \t#)]}"] + [0])
        value = "\n" * last + "_last = (" + "\n".join(lines[last:]) + "\n)"
        try:
            value = compile(value, "<yours>", "exec")
        except SyntaxError:  # no expression
            exec(compile(code, "<yours>", "exec"), space)
        else:
            exec(compile("\n".join(lines[:last]), "<yours>", "exec"), space)
            exec(value, space)
            if space["_last"] is not None:
                print(repr(space["_last"]))
    except Exception as error:
        said = type(error).__name__ + ": " + str(error)
        return {"correct": False, "said": said, "traceback": traced(error), "lacks": lacks(error)}
    return {"correct": True, "said": ""}


def verdict(code, name, given, above):
    space = dict(PYTHON, __name__="reader")
    for line, _ in SENT["given"]:
        try:
            exec(line, space)
        except (ImportError, AttributeError):
            pass  # a name that this page's torch has not
    for text in given:
        exec(compile(text, "<above>", "exec"), space)
    torch.lacked.clear()
    own = ""
    try:
        for own, text in above:
            exec(compile(text, "<above>", "exec"), space)
        own = ""
        exec(compile(code, "<yours>", "exec"), space)
        PARAMETERS[:] = named_parameters(code, name)
        if name not in space:
            return {"correct": False, "missing": name}
        correct, said, error = judge(space[name])
    except Exception as caught:
        correct, said, error = False, type(caught).__name__ + ": " + str(caught), caught
    tried = [] if correct else [each for each in torch.lacked if each.split(".")[-1] in code]
    lacking = lacks(error) or (tried + [""])[0]
    return {
        "correct": correct,
        "said": said,
        "traceback": traced(error),
        "lacks": lacking,
        "unknown": unknown(error),
        "own": own,
    }


def lacks(error):
    """What this page has less of than Python and PyTorch, if that was it."""
    if isinstance(error, torch.Lacking):
        return str(error)
    if isinstance(error, ImportError):
        return str(error).split("'")[-2]
    return ""


def unknown(error):
    """The name that the code uses and nothing gives, if that was it."""
    return (str(error) + "''").split("'")[1] if isinstance(error, NameError) else ""


def traced(error):
    if error is None:
        return ""
    out = io.StringIO()
    sys.print_exception(error, out)
    return out.getvalue()
