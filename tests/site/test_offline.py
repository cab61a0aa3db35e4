"""The book without a network: what was read is there and computes; all of it, if one likes; and never a stale page."""

import json
import os
import re
import shutil
import socket

import pytest
from PIL import Image
from playwright.sync_api import expect

from booktools.book.contents import deck_page, deck_paths
from booktools.printers.offline import add_worker, manifest, named_files
from booktools.serving import serving
from tests import ROOT
from tests.browser.clocks import until
from tests.browser.pages import PAGES, settle
from tests.browser.visiting import FOLDER, Lasting

FIVE, SIX = "chapters/05_scaled_dot_product_attention.html", "chapters/06_multi_head_attention.html"
KEPT = """async () => {
    const held = (await caches.keys()).map(async (name) => (await caches.open(name)).keys());
    return (await Promise.all(held)).flat().map(({ url }) => url);
}"""
# What a page asks its service worker for; and all that it has asked by itself, once its script has run to its end.
ASKED = """
window.asked = [];
const { postMessage } = ServiceWorker.prototype;
ServiceWorker.prototype.postMessage = function (message, ...more) {
    asked.push(message.ask);
    postMessage.call(this, message, ...more);
};
"""
ASKED_BY_KEEP = """async () => {
    await import(new URL("_static/keep_offline.js", new URL(document.documentElement.dataset.content_root, location)));
    return asked;
}"""
LEFT_OUT = shutil.ignore_patterns("models", "colab", "assignments", "*.whl")


class Host(Lasting):
    """A host that can be out of reach, connections that are open included."""

    reachable = True

    def do_GET(self):
        if Host.reachable:
            super().do_GET()
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def copy(site, tmp_path):
    """A copy of the site, to be deployed once more."""
    return shutil.copytree(site.folder, tmp_path / "site", ignore=LEFT_OUT, copy_function=os.link)


@pytest.fixture
def page(browser, copy):
    """A new reader's browser, with the copy at its address."""
    Host.reachable = True
    with serving(copy, Host, at=FOLDER) as address, browser.new_context(base_url=address) as context:
        context.set_default_timeout(60_000)
        yield context.new_page()


def kept(page):
    return {url.partition(FOLDER)[2] for url in page.evaluate(KEPT)}


def wait_until_kept(page, path):
    until(page, f"async (path) => (await ({KEPT})()).some((url) => url.endsWith(path))", path)


def deploy(copy, path, text, *, tell=True):
    """Another page at this path; and, unless only half of the update arrives, a worker that knows of it."""
    old = (copy / path).read_text("utf-8")
    (copy / path).unlink()
    (copy / path).write_text(re.sub("</h1>", f" {text}</h1>", old, count=1), "utf-8")
    if tell:
        for name in ("offline.js", "book.webmanifest"):
            (copy / name).unlink()
        add_worker(copy)


def update(page):
    """Have the browser look for another worker, and see what becomes of it.

    The one before it goes when it is idle: at once, or, watched as it is by a test, after as much as five minutes.
    """
    return page.evaluate(
        """async () => {
            const registration = await navigator.serviceWorker.getRegistration();
            await registration.update();
            const worker = registration.installing ?? registration.waiting ?? registration.active;
            while (worker.state === "installing") await new Promise((resolve) => setTimeout(resolve, 10));
            return worker.state;
        }"""
    )


def test_a_chapter_that_was_read_computes_without_a_network(page):
    page.goto(FIVE)
    wait_until_kept(page, FIVE)
    Host.reachable = False
    page.reload()
    widget = page.locator("[data-afm]").first
    widget.scroll_into_view_if_needed()
    expect(page.locator("[data-mounted]").first).to_be_attached()
    page.goto(SIX)
    expect(page.get_by_role("heading")).to_have_text("Not here without a network")
    page.get_by_role("link", name="Scaled dot-product attention").click()
    expect(page.locator("[data-mounted]").first).to_be_attached()


def test_the_whole_book_is_kept_if_a_reader_likes(page):
    page.goto("index.html")
    box = page.locator(".keep")
    box.get_by_role("button").click()
    expect(box.get_by_role("status")).to_contain_text("The whole book is here", timeout=120_000)
    Host.reachable = False
    for path in (SIX, "glossary.html"):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()
    page.goto("index.html")
    expect(box.get_by_role("status")).to_contain_text("The whole book is here")
    expect(box.get_by_role("button")).to_be_hidden()


def test_nothing_is_kept_unasked_where_data_are_to_be_saved(page):
    page.add_init_script("Object.defineProperty(navigator, 'connection', { value: { saveData: true } })")
    page.add_init_script(ASKED)
    page.goto("index.html")
    expect(page.locator(".keep").get_by_role("button")).to_be_visible()
    before = kept(page)
    page.goto(FIVE)
    expect(page.locator("[data-mounted]").first).to_be_attached()
    assert page.evaluate(ASKED_BY_KEEP) == []
    assert kept(page) == before
    assert FIVE not in before
    page.goto("index.html")
    page.locator(".keep").get_by_role("button").click()  # which one may still ask for
    expect(page.locator(".keep").get_by_role("status")).to_contain_text("The whole book is here", timeout=120_000)


def test_a_network_that_goes_while_the_book_is_fetched(page):
    """What has come stays, what is missing is said, and asked for again it comes."""
    page.goto("index.html")
    wait_until_kept(page, "index.html")
    box = page.locator(".keep")
    box.get_by_role("button").click()
    expect(box.get_by_role("status")).to_contain_text(" of ")
    until(page, f"async () => (await ({KEPT})()).length > 40")
    Host.reachable = False
    expect(box.get_by_role("status")).to_have_text(re.compile("again"))
    came = kept(page)
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    Host.reachable = True
    page.reload()
    box.get_by_role("button").click()
    expect(box.get_by_role("status")).to_contain_text("The whole book is here", timeout=120_000)
    assert came < kept(page)


def test_a_browser_without_room_says_so(page, copy):
    page.goto("index.html")
    wait_until_kept(page, "index.html")
    session = page.context.new_cdp_session(page)
    origin = page.evaluate("location.origin")
    session.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 3_000_000})
    page.locator(".keep").get_by_role("button").click()
    expect(page.locator(".keep").get_by_role("status")).to_contain_text("no room")
    Host.reachable = False
    page.reload()
    expect(page.locator("h1")).to_be_visible()


def test_after_a_deployment_no_page_is_stale_and_what_was_read_is_there_anew(page, copy):
    page.goto(FIVE)
    wait_until_kept(page, FIVE)
    deploy(copy, FIVE, "anew")
    page.reload()
    expect(page.locator("h1")).to_contain_text("anew")
    assert update(page) != "redundant"
    held, waits = page.evaluate(
        """async (page) => {
            const held = (await caches.keys()).map(async (name) => {
                const response = await (await caches.open(name)).match(page);
                return ((await response?.text()) ?? "").includes("anew");
            });
            return [await Promise.all(held), Boolean((await navigator.serviceWorker.getRegistration()).waiting)];
        }""",
        page.url,
    )
    assert True in held
    assert not waits or False in held, "the pages of both builds, for as long as the earlier worker is there"


def test_what_earlier_builds_kept_goes(page):
    page.goto("index.html")
    wait_until_kept(page, "index.html")
    page.evaluate(
        """async () => {
            const [name] = await caches.keys();
            for (const other of [name + "0", "of somebody else"]) await caches.open(other);
            await (await navigator.serviceWorker.getRegistration()).unregister();
        }"""
    )
    page.reload()
    until(page, "async () => (await caches.keys()).length === 2")
    assert "of somebody else" in page.evaluate("caches.keys()")


def test_half_an_update_changes_nothing_that_is_kept(page, copy):
    page.goto(FIVE)
    wait_until_kept(page, FIVE)
    deploy(copy, SIX, "anew")
    deploy(copy, FIVE, "half", tell=False)
    assert update(page) == "redundant"
    Host.reachable = False
    page.reload()
    expect(page.locator("h1")).not_to_contain_text("half")


def test_the_worker_knows_all_that_pages_ask_for(site, visit):
    """What a page asks for while one scrolls through it, is among what is kept for it."""
    known = manifest(site.folder)
    files = list(known["files"])
    needed = {files[place] for place in known["pages"][FIVE]}
    page = visit(FIVE)
    settle(page)
    page.wait_for_load_state("networkidle")
    asked = {url.removeprefix(visit.home).partition("?")[0] for url in visit.requests if url.startswith(visit.home)}
    assert asked - {FIVE, "colab/last-green.json"} <= needed
    decks = {f"{deck_page(chapter)}.html" for chapter in deck_paths(ROOT)}
    assert set(known["pages"]) == set(PAGES) - {"404.html"} | decks


def test_names_are_read_from_pages_styles_and_scripts():
    script = 'import "./b.js"; new Worker(new URL("c.js?v=1", base)); "d.bin"; "no.js"'
    there = {f"_static/{name}" for name in ("b.js", "c.js", "d.bin", "e.js")}
    assert named_files("_static/a.js", script, there) == there - {"_static/e.js"}


def test_what_the_book_is_installed_with_is_there(site):
    about = json.loads(site.text("book.webmanifest"))
    assert about["name"] == site.soup("index.html").title.text.strip()
    for name in (about["start_url"], *(icon["src"] for icon in about["icons"])):
        assert (site / name).is_file(), name
    assert Image.open(site / about["icons"][1]["src"]).size == (512, 512)
