"""What a page may load and run: the site's own, whatever gets into it."""

import pytest

from booktools.site.content_security_policy import content_security_policy, first_paint
from tests.browser.pages import PAGES

TRIED = """async () => {
    const refused = [];
    document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
    const add = (tag, attributes) => document.body.append(Object.assign(document.createElement(tag), attributes));
    add("script", { textContent: "window.ran = true" });
    add("script", { src: "https://example.org/a.js" });
    add("img", { src: "https://example.org/a.png" });
    add("iframe", { src: "https://example.org/" });
    add("base", { href: "https://example.org/" });
    await fetch("https://example.org/").catch(() => {});
    while (refused.length < 6) await new Promise((resolve) => setTimeout(resolve, 10));
    return [window.ran ?? false, refused.toSorted()];
}"""
REFUSED = ["base-uri", "connect-src", "frame-src", "img-src", "script-src-elem", "script-src-elem"]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_says_it_before_it_loads_anything(site, path):
    head = site.soup(path).head
    (said,) = head.select('meta[http-equiv="Content-Security-Policy"]')
    assert not said.find_all_previous(["script", "link", "style"])
    if path == "404.html":
        assert "default-src 'none'" in said["content"]
        return
    (script,) = (each for each in site.soup(path).select("script:not([src])") if "json" not in each.get("type", ""))
    assert script.string == first_paint()
    assert said["content"] == content_security_policy(script.string)


def test_what_gets_into_a_page_runs_nothing_and_asks_nobody(browser, home):
    page = browser.new_page()
    page.goto(home + "chapters/05_scaled_dot_product_attention.html")
    assert page.evaluate(TRIED) == [False, REFUSED]
    page.close()
