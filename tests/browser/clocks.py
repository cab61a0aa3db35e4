"""How a test waits: for frames that the browser draws, for a page to lie still, or for nothing, where it owns the time.

No clock of the machine decides. On a busy machine frames come late, and the wait becomes longer with them.
"""

import time

from playwright.sync_api import Page

PATIENCE = 60_000  # milliseconds to wait for what comes: a test that passes does not need them, whatever else runs
# A page whose time stands: frames are drawn as ever, but what asks for the time, or wants to be woken again and again,
# is told of no more than `pass` lets pass.
HOLD = """() => {
    let now = performance.now();
    const timers = new Map(), [draw, end] = [requestAnimationFrame.bind(window), clearInterval.bind(window)];
    performance.now = () => now;
    window.requestAnimationFrame = (act) => draw(() => act(now));
    window.setInterval = (act, every) => {
        const name = 1e9 + timers.size;
        timers.set(name, { act, every, due: now + every });
        return name;
    };
    window.clearInterval = (name) => { if (timers.has(name)) timers.get(name).due = Infinity; else end(name); };
    window.pass = (milliseconds) => {
        const until = now + milliseconds;
        for (;;) {
            const [next] = [...timers.values()].sort((one, other) => one.due - other.due);
            if (!next || next.due > until) break;
            now = next.due;
            next.due += next.every;
            next.act();
        }
        now = until;
    };
}"""
FRAMES = """async (n) => {
    for (; n; n -= 1) await new Promise((drawn) => requestAnimationFrame(drawn));
}"""
# Until ten frames in a row have shown the page at the same place, as long, and no section of it waits to be laid out.
AT_REST = """async () => {
    const place = () => [scrollX, scrollY, document.documentElement.scrollHeight].join(" ");
    for (let [same, before] = [0, ""]; same < 10; ) {
        await new Promise((drawn) => requestAnimationFrame(drawn));
        same = place() === before && !document.documentElement.matches(".early") ? same + 1 : 0;
        before = place();
    }
}"""


def hold_time(page: Page) -> None:
    """From here on, time passes on this page only in `pass_time`."""
    page.evaluate(HOLD)


def pass_time(page: Page, milliseconds: float) -> None:
    page.evaluate("(milliseconds) => pass(milliseconds)", milliseconds)
    frames(page)


def frames(page: Page, n: int = 2) -> None:
    """Wait until so many frames have been drawn; what follows from an input is seen in the second at the latest."""
    page.evaluate(FRAMES, n)


def at_rest(page: Page) -> None:
    """Wait until the page has come to rest: it scrolls no more, and nothing in it makes it longer."""
    page.evaluate(AT_REST)


def until(page: Page, script: str, arg=None) -> None:
    """Wait until a script that is asynchronous says yes. (`wait_for_function` takes the promise of it for a yes.)"""
    latest = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(script, arg):
        assert time.monotonic() < latest, f"this did not come true: {script}"
        frames(page)
