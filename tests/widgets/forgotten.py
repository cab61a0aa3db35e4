"""Texts that are in no file of words: in the pseudo-language they stand without brackets.

Data, which is the same in every language, says so with translate="no".
"""

import re

from bs4 import BeautifulSoup
from playwright.sync_api import Locator

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
NOT_A_NUMBER = r"NaN|e[−-]?\d+"


def forgotten(node: Locator) -> list[str]:
    """What of a node's texts and labels is in no file of words, numbers in English dress included."""
    return [rest for text in node.evaluate(TEXTS) if (rest := left_over(text))]


def forgotten_in_table(html: str) -> str:
    """The same of an HTML table."""
    page = BeautifulSoup(html, "html.parser")
    for data in page.select("[translate=no], code, pre, script"):
        data.replace_with(" ")
    return left_over(page.get_text(" "))


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
    return " ".join(re.findall(r"[^\W\d_]{2,}|\d+[.,]\d+", text))
