"""However one writes, the page's verdict is that of PyTorch, or an honest refusal; never another one."""

import json
import re

import pytest

from attnbook import check
from tests.live.answers import stubs
from tests.live.test_sentences import asking
from tests.live.ways import ways

__all__ = ["asking"]
CHAPTERS = ("02", "05", "06", "09")
STUBS = {stub.name: stub for stub in stubs() if stub.file[:2] in CHAPTERS}
REFUSAL = re.compile(r"This page('s)? |\w+ comes from a cell further up")
RAISED = re.compile(r"(your function raised \w+): .*", re.S)  # Python and MicroPython say it in other words
# MicroPython makes True a 1 before a tensor sees it, so that True - x, which PyTorch refuses, is 1 - x.
TAKEN = "(i == j) - p[j]"


def by_torch(site, name: str, code: str) -> str:
    """What the check says of code that is run after what the page gives it, too."""
    space = {"show": lambda x: None}
    sent = json.loads(site.text(f"_static/write/{STUBS[name].file}"))
    above = json.loads(site.text(f"_static/write/{sent['above'].partition('?')[0]}"))
    exec("\n".join(line for line, _ in sent["given"]), space)
    exec("\n".join(line for at, _, line in above["definitions"] if at < sent["place"]), space)
    exec(code, space)
    return str(getattr(check, STUBS[name].check)(space[name]))


@pytest.mark.parametrize("name", STUBS)
def test_every_way_is_judged_as_by_torch(site, name, asking):
    mine = [code for each, code in ways() if each == name]
    assert len(mine) > 2
    said = [re.sub(r"^Line \d+: ", "", text) for text in asking([(code, name, STUBS[name].file) for code in mine])]
    wrong = [
        (code, text, want)
        for code, text in zip(mine, said, strict=True)
        if not REFUSAL.match(text)
        and TAKEN not in code
        and RAISED.sub(r"\1", text) != RAISED.sub(r"\1", want := by_torch(site, name, code))
    ]
    assert not wrong
    assert len([text for text in said if REFUSAL.match(text)]) <= 1
