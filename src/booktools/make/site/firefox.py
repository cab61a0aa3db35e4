"""Every page with widgets in Firefox, as it is installed: `make firefox`, where there is one.

Tests run in Chromium, whose headless form has no scroll bars. Firefox has them, and another engine: here each widget
starts, is about as high as in Chromium, nothing scrolls sideways on a phone, and nothing is complained of.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import websocket

from booktools.make.site.heights import pages_with_widgets
from booktools.serving import serving

LAPTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
NEAR = 24  # pixels: letters are set otherwise, so a text may need a line more
START = """(async () => {
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const isReady = (node) => node.matches("[data-mounted]") && !node.querySelector("[aria-busy=true]");
    const late = [];
    for (const node of document.querySelectorAll("[data-afm]")) {
        node.scrollIntoView({ behavior: "instant" });
        for (let frames = 0; !isReady(node) && frames < 600; frames += 2) await drawn();
        if (!isReady(node)) late.push(`${node.dataset.afm} does not start`);
    }
    await drawn();
    return late;
})()"""
HEIGHTS = """[...document.querySelectorAll(".touch")].map((frame) => [frame.id,
    frame.querySelector("[data-afm]").offsetHeight, parseFloat(frame.style.getPropertyValue("--wide"))])"""
SIDEWAYS = """document.documentElement.scrollWidth > innerWidth ? [document.documentElement.scrollWidth] : []"""


class Firefox:
    """One tab, driven by WebDriver BiDi."""

    def __init__(self, socket: websocket.WebSocket):
        self.socket, self.numbers, self.said = socket, count(), []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params) -> dict:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self.socket.recv())).get("id") != number:
            if answer.get("params", {}).get("level") == "error":
                self.said.append(answer["params"]["text"])
        if answer["type"] == "error":
            raise RuntimeError(f"{method}: {answer['message']}")
        return answer["result"]

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def resize(self, screen: dict[str, int]) -> None:
        self.ask("browsingContext.setViewport", context=self.tab, viewport=screen)

    def evaluate(self, script: str) -> list:
        asked = f"Promise.resolve({script}).then(JSON.stringify)"
        answer = self.ask("script.evaluate", expression=asked, target={"context": self.tab}, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])


@contextmanager
def _started(program: str) -> Iterator[Firefox]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = Path(profile, "WebDriverBiDiServer.json")
        try:
            while not (told.is_file() and told.read_text("utf-8")):
                if running.poll() is not None:
                    sys.exit(f"{program} ended before it could be spoken to, with status {running.returncode}.")
                time.sleep(0.1)
            where = json.loads(told.read_text("utf-8"))
            address = f"ws://{where['ws_host']}:{where['ws_port']}/session"
            yield Firefox(websocket.create_connection(address, timeout=120, suppress_origin=True))
        finally:
            running.terminate()
            running.wait()


def faults(browser: Firefox, address: str) -> list[str]:
    browser.said.clear()
    browser.resize(LAPTOP)
    browser.open(address)
    found = browser.evaluate(START)
    heights = browser.evaluate(HEIGHTS)
    found += [f"{name} is {high} px high, not {kept:.0f}" for name, high, kept in heights if abs(high - kept) > NEAR]
    browser.resize(PHONE)
    found += [f"{width} px wide on a phone of {PHONE['width']}" for width in browser.evaluate(SIDEWAYS)]
    return found + browser.said


def main(site: Path) -> None:
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if not program:
        sys.exit("There is no Firefox here. Try: sudo apt-get install firefox-esr")
    red = False
    with serving(site) as home, _started(program) as browser:
        for name in pages_with_widgets(site):
            found = faults(browser, f"{home}{name}.html")
            red |= bool(found)
            print(f"{name}: {'; '.join(found) or 'as in Chromium'}", flush=True)
    sys.exit(red)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
