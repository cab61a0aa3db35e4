"""What a reader does with a control, and what it makes of the widget's traits: (what, act(hand, node), changes)."""

from attnbook.widgets import WordMap
from tests.browser.hands import stops


def unfolded(hand, target):
    """The control, once what it is folded into is open."""
    for fold in target.locator("xpath=ancestor::details[not(@open)]").all():
        hand.press(fold.locator("summary"))
    return target


def choose(trait, *values):
    def act(value):
        return lambda hand, node: hand.choose(unfolded(hand, node.locator(f"input[name^='{trait}-'][value='{value}']")))

    return [(f"{trait} {value}", act(value), {trait: value}) for value in values]


def slide(label, trait, **ends):
    def act(end):
        return lambda hand, node: hand.slide(
            unfolded(hand, node.get_by_role("slider", name=label, include_hidden=True)), end
        )

    return [(f"{trait} to its {end} value", act(end), {trait: value}) for end, value in ends.items()]


def ask(i):
    return [(f"query {i} asks", lambda hand, node: hand.ask(node.locator("[role=grid] tbody tr").nth(i)), {"query": i})]


def paint(cells, **traits):
    def act(hand, node):
        rows = node.locator("[role=grid] tbody tr")
        hand.sweep([rows.nth(i).locator("td").nth(j) for i, j in cells])

    return [(f"painted {cells}", act, {"query": cells[-1][0], **traits})]


def drag(what, way, changes):
    """`way` is where it starts and where it ends, as a function of the widget's node."""

    def act(hand, node):
        start, end = way(node)
        hand.drag([start, *stops(start, end)])

    return [(f"{what} dragged", act, changes)]


def pull(label, end, keys, changes):
    """A handle, dragged to `end` (of the picture, as a function of the widget's node) or moved by keys."""

    def act(hand, node):
        hand.pull(node.get_by_role("slider", name=label, exact=True), lambda: end(node), keys)

    return [(f"{label} pulled", act, changes)]


def spot(across, down, picture="svg"):
    """A place in a widget's picture, by shares of its width and height."""

    def where(node):
        box = node.locator(picture).first.bounding_box()
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    return where


def press(name, changes):
    def act(hand, node):
        hand.press(unfolded(hand, node.get_by_role("button", name=name, exact=True, include_hidden=True)))

    return [(f"{name!r} pressed", act, changes)]


def stroke(cells, trait, **more):
    """Over several cells: what it does to the first, it does to all."""
    (_, act, _), *_ = paint(cells)

    def after(twin):
        there = getattr(twin, trait)
        if cells[0] in there:
            return [cell for cell in there if cell not in cells]
        return there + [cell for cell in cells if cell not in there]

    return [(f"stroke over {cells}", act, {trait: after, **more})]


def fill(label, written, changes):
    def act(hand, node):
        hand.write(node.get_by_role("combobox", name=label), f" {written.upper()} ")

    return [(f"{written!r} written", act, changes)]


def compose(text, **changes):
    def act(hand, node):
        hand.write(node.get_by_role("textbox", name="A date"), f" {text} ")

    return [(f"{text!r} written", act, {"text": text, "step": 0, **changes})]


def there(word):
    """The map goes where the word is."""
    x, y = WordMap.place(word)
    return {"word": word, "x": x, "y": y, "zoom": lambda twin: max(twin.zoom, 6.0)}
