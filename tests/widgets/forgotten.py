"""Texts that are in no file of words: in the pseudo-language they stand without brackets.

Data, which is the same in every language, says so with translate="no".
"""

import re
from functools import cache

from bs4 import BeautifulSoup
from playwright.sync_api import Locator

from attnbook.widgets.shared.files import ROOMS

# All texts of a node, what is data left out, and the attributes that are read aloud.
TEXTS = """(root) => {
    const walk = (node) => {
        if (node.nodeType === Node.TEXT_NODE) return node.data;
        if (node.nodeType !== Node.ELEMENT_NODE) return "";
        if (node.closest("[translate=no]") || ["SCRIPT", "STYLE", "CODE", "PRE"].includes(node.nodeName)) return " ";
        return [...node.childNodes].map(walk).join("");
    };
    const names = ["aria-label", "aria-valuetext", "aria-description", "title", "alt", "placeholder", "data-tooltip"];
    const said = [root, ...root.querySelectorAll("*")].filter((node) => !node.closest("[translate=no]"))
        .flatMap((node) => names.map((name) => node.getAttribute(name))).filter(Boolean);
    return [walk(root), ...said];
}"""
NUMBER = r"\d+[.,]\d+"
NOT_A_NUMBER = r"NaN|e[−-]?\d+"


def forgotten(node: Locator) -> list[str]:
    """What of a node's texts and labels is in no file of words, numbers in English dress included."""
    return [rest for text in node.evaluate(TEXTS) if (rest := left_over(text))]


def forgotten_in_widget(texts: list[str]) -> list[str]:
    """The same of a widget's texts, and the numbers in English dress in the gaps of its sentences."""
    return [found for text in texts for found in (left_over(text), *english_numbers(text)) if found]


def forgotten_in_table(html: str) -> str:
    """The same of a widget's table in HTML."""
    page = BeautifulSoup(html, "html.parser")
    for data in page.select("[translate=no], code, pre, script"):
        data.replace_with(" ")
    text = page.get_text(" ")
    return " ".join(filter(None, [left_over(text), *english_numbers(text)]))


def left_over(text: str) -> str:
    """Words, and numbers with an English point, outside of brackets.

    >>> left_over("⟦Weights of ⟦0⟦.⟧5⟧⟧ 3 d")
    ''
    >>> left_over("⟦Weights⟧ of bank: 0.5")
    'of bank 0.5'
    """
    while (inner := re.sub(r"⟦[^⟦⟧]*⟧", "", text)) != text:
        text = inner
    text = re.sub(NOT_A_NUMBER, " ", text)
    return " ".join(re.findall(rf"[^\W\d_]{{2,}}|{NUMBER}", text))


def english_numbers(text: str) -> list[str]:
    """Numbers with an English point or comma, within brackets too, but for those that a file of words has itself.

    >>> english_numbers("⟦34.56 % of the 4,000 words, ⟦0⟦.⟧5⟧⟧")
    ['34.56']
    """
    return [number for number in re.findall(NUMBER, text) if number not in numbers_in_words()]


@cache
def numbers_in_words() -> set[str]:
    return {number for path in ROOMS.glob("*/en.json") for number in re.findall(NUMBER, path.read_text("utf-8"))}
