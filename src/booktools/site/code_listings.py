"""Code as a page shows it: one blank line where the formatter wants two, and lines that can wrap on a phone."""

import re

# What a cell prints is set in "myst-ansi" and stays as it was printed.
_LISTING = re.compile(
    r'(highlight-(?!myst-ansi)\w+ notranslate"><div class="highlight"><pre><span></span>)(.*?)(?=</pre>)', re.S
)
# Names, signs and spaces have the colour of the text: a third of a page's elements, which say nothing.
_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_TAG = re.compile(r"<[^>]+>")
_MAY_BREAK = re.compile(r'(<span class="o">\.</span>)|(<[^>]+>)|\(')
_PHONE = 30  # characters that stand side by side on a narrow phone


def _wrap_code(body):
    """Each line of code in an element of its own, which knows its indent.

    >>> start = '<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>'
    >>> _wrap_code(start + "if x:\\n  y\\n</pre>").removeprefix(start)
    '<span class="line">if x:</span>\\n<span class="line" style="--in:2">  y</span>\\n</pre>'
    """

    def lines(code):
        return code[1] + "".join(map(_wrap_line, code[2].replace("\n\n\n", "\n\n").splitlines()))

    return _LISTING.sub(lines, body)


def _wrap_line(html):
    html = _PLAIN.sub(r"\1", html)
    text = _TAG.sub("", html)
    indent = len(text) - len(text.lstrip(" "))
    style = f' style="--in:{indent}"' if indent else ""
    if indent + max(map(len, text.split()), default=0) > _PHONE:
        html = _MAY_BREAK.sub(_break_points, html)
    return f'<span class="line"{style}>{html}</span>\n'


def _break_points(sign):
    """What is too long for a phone may break before a dot or behind a parenthesis, and not in the middle of a name.

    >>> _MAY_BREAK.sub(_break_points, 'layer<span class="o">.</span>weight.data(x)')
    'layer<wbr><span class="o">.</span>weight.data(<wbr>x)'
    """
    dot, tag = sign.groups()
    return tag or (f"<wbr>{dot}" if dot else "(<wbr>")


def wrap_listings(page):
    page.body = _wrap_code(page.body)
