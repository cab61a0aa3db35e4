"""On the page a check says what it says in Python: of every stub, every right answer, every known mistake."""

import re
from pathlib import Path

import pytest

from attnbook import check
from attnbook.language import words
from booktools.live import HERE
from tests.live.answers import mistakes, stubs

ASK = """async ([engine, asked]) => {
    const { ask } = await import(`${engine}ask.js`);
    const answers = [];
    const out = document.createElement("div");
    for (const [code, name, file] of asked)
        answers.push((await ask({ code, name, sent: new URL(`../${file}`, engine) }, out)).text);
    return answers;
}"""


@pytest.fixture(scope="module")
def asking(site, browser, home):
    """A page, of which no stub is pressed, that asks for verdicts."""
    page = browser.new_page()
    page.goto(f"{home}index.html")
    engine = next((site / "_static/write").glob("*/ask.js")).parent.relative_to(site.folder).as_posix()
    yield lambda asked: page.evaluate(ASK, [f"{home}{engine}/", asked])
    page.close()


# Chapters' own answers that MicroPython can't read, and what is said instead.
REFUSED = {"my_seen_before": words(HERE)["syntax"]["star"]}


@pytest.mark.parametrize("stub", stubs(), ids=lambda stub: Path(stub.file).stem)
def test_a_stub_and_the_answer_of_its_chapter(stub, asking):
    unwritten, ours = asking([(code, stub.name, stub.file) for code in (stub.written, stub.ours)])
    space = {}
    exec(f"import torch\nfrom torch import nn\n{stub.written}", space)
    assert unwritten == str(getattr(check, stub.check)(space[stub.name]))
    assert ours == REFUSED.get(stub.name, "correct")


ODD = {
    "attention": [
        """def answer(q, k, v, mask=None):
    q /= q.shape[-1] ** 0.5  # writes into what it was given
    return masked_softmax(q @ k.mT, mask) @ v, masked_softmax(q @ k.mT, mask)""",
        "def answer(q, k, v, mask=None):\n    w, o = attention(q, k, v, mask)\n    return o, w",
        "def answer(q, k, v, mask=None):\n    return attention(q, k, v, mask)[0]",
        "def answer(q, k, v):\n    return q",
    ],
    "skip_gram_pairs": [
        "def answer(words, n):\n    return []",
        "def answer(words, n):\n    return [(a, b) for a in words for b in words]",
        "def answer(words, n):\n    return [(words[i], words[j]) for i in range(len(words)) for j in range(i)]",
    ],
    "masked_softmax": [
        "def answer(scores, mask):\n    scores = scores.float()\n    return masked_softmax(scores, mask)",
        "def answer(scores, mask):\n    return masked_softmax(scores.detach(), mask)",
        """def answer(scores, mask):
    w = masked_softmax(scores, mask)
    w *= (
        1 + 1  # twice
    )
    return w""",
    ],
    "tokens_that_fit": [
        """def answer(room, *sizes):
    size = 2
    for n in sizes:
        size *= n
    return room // size""",
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_odd_answers(name, asking):
    given = "import torch\nfrom attnbook import attention, masked_softmax\n"
    said = asking([(given + code, "answer", CHECKS[name]) for code in ODD[name]])
    for code, sentence in zip(ODD[name], said, strict=True):
        space = {}
        exec(given + code, space)
        theirs = str(getattr(check, name)(space["answer"]))
        assert re.sub(r"^Line \d+: ", "", sentence) == theirs


CHECKS = {stub.check: stub.file for stub in stubs()}


@pytest.mark.parametrize("name", CHECKS)
def test_known_mistakes(name, asking):
    known = mistakes(name)
    said = asking([(code, "answer", CHECKS[name]) for code, _ in known])
    assert said == [sentence for _, sentence in known]
