"""Three ways to work a control: a mouse, a finger, a keyboard. Each does what a person would."""

import time

from playwright.sync_api import Locator, Page

from tests.browser.clocks import at_rest


def bring(target: Locator) -> tuple[float, float]:
    """The middle of an element, brought to the middle of the window (clear of the bar at the top)."""
    target.evaluate("node => node.scrollIntoView({ block: 'center', behavior: 'instant' })")
    return middle(target)


def middle(target: Locator) -> tuple[float, float]:
    box = target.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def stops(start, end, n=3):
    """Points on the straight way from start to end."""
    return [tuple(a + (b - a) * i / n for a, b in zip(start, end, strict=True)) for i in range(1, n + 1)]


def end_of(slider: Locator, end: str) -> tuple[float, float]:
    box, inset = slider.bounding_box(), 3
    x = box["x"] + (inset if end == "first" else box["width"] - inset)
    return x, box["y"] + box["height"] / 2


class Hand:
    def __init__(self, page: Page):
        self.page = page

    def choose(self, radio: Locator):
        self.press(radio)

    def slide(self, slider: Locator, end: str):
        start = bring(slider)
        self.drag([start, *stops(start, end_of(slider, end))])

    def write(self, field: Locator, text: str):
        self.press(field)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def ask(self, row: Locator):
        self.press(row.locator("th"))

    def sweep(self, cells: list[Locator]):
        bring(cells[0])
        self.drag([middle(cell) for cell in cells])

    def pull(self, handle: Locator, end, keys: list[str]):
        """A handle in a picture to where `end` says, once the picture is in sight."""
        start = bring(handle)
        self.drag([start, *stops(start, end())])


class Mouse(Hand):
    def press(self, target: Locator):
        target.click()

    def drag(self, points):
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point)
        self.page.mouse.up()


class Finger(Hand):
    def press(self, target: Locator):
        self.page.touchscreen.tap(*bring(target))

    def sweep(self, cells: list[Locator]):
        """One cell is tapped. Several are painted, which is switched on before and off after if it is not always on."""
        if len(cells) == 1:
            return self.press(cells[0])
        switches = cells[0].locator("xpath=ancestor::*[@data-afm]").locator(".ab-finger button").all()
        for paint in switches:
            self.press(paint)
        super().sweep(cells)
        for paint in switches:
            self.press(paint)

    def drag(self, points):
        """It rests before it lifts: after a fling, Chromium ignores a tap. When each event was, the browser is told."""
        session, now = self.page.context.new_cdp_session(self.page), time.time()

        def send(kind, seconds, *touches):
            points = [{"x": x, "y": y} for x, y in touches]
            event = {"type": kind, "touchPoints": points, "timestamp": now + seconds}
            session.send("Input.dispatchTouchEvent", event)

        send("touchStart", 0, points[0])
        for n, point in enumerate(points[1:], start=1):
            send("touchMove", n / 60, point)
        rests = len(points) / 60 + 1
        send("touchMove", rests, points[-1])
        send("touchEnd", rests)


def swiped(page: Page, start: tuple[float, float]) -> float:
    """How far the page scrolls under a finger that goes up from `start`, 150 pixels.

    The finger's events have all been handled when the drag returns, and the page is at rest: it would have scrolled.
    """
    (x, y), before = start, page.evaluate("scrollY")
    Finger(page).drag([(x, y), *((x, y - 15 * step) for step in range(1, 11))])
    at_rest(page)
    return page.evaluate("scrollY") - before


class Keyboard(Hand):
    def press(self, target: Locator):
        target.focus()
        self.page.keyboard.press("Enter")

    def choose(self, radio: Locator):
        group = radio.locator("xpath=ancestor::fieldset")
        checked = group.locator(":checked")  # at first there may be none
        (checked if checked.count() else group.locator("input").first).focus()
        while not radio.is_checked():
            self.page.keyboard.press("ArrowRight")

    def slide(self, slider: Locator, end: str):
        slider.focus()
        self.page.keyboard.press({"first": "Home", "last": "End"}[end])

    def ask(self, row: Locator):
        self.go(row.locator("td").first)

    def sweep(self, cells: list[Locator]):
        for cell in cells:
            self.go(cell)
            self.page.keyboard.press("Space")

    def pull(self, handle: Locator, end, keys: list[str]):
        handle.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def go(self, cell: Locator):
        """With arrows, from wherever the grid's tab stop is."""
        cell.locator("xpath=ancestor::table").locator("[tabindex='0']").focus()
        place = "node => [node.parentNode.rowIndex, node.cellIndex]"
        row, column = self.page.locator(":focus").evaluate(place)
        to_row, to_column = cell.evaluate(place)
        for steps, back, forth in ((to_row - row, "Up", "Down"), (to_column - column, "Left", "Right")):
            for _ in range(abs(steps)):
                self.page.keyboard.press(f"Arrow{forth if steps > 0 else back}")


HANDS = {"mouse": Mouse, "touch": Finger, "keyboard": Keyboard}
