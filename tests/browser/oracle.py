"""What each widget shows on the page, beside what PyTorch says it must show."""

import re

import torch
import torch.nn.functional as F
from playwright.sync_api import Locator
from torch import Tensor

from attnbook.data import word_vectors
from attnbook.widgets.base import BookWidget
from attnbook.widgets.random import normals

READ = {
    "attention_heatmap": """(node) => {
        const all = (selector, read, root = node) => [...root.querySelectorAll(selector)].map(read);
        const text = (cell) => cell.textContent;
        return {
            cells: all("[role=grid] tbody tr", (row) => all("td", text, row)),
            row: all(".ab-row tbody tr", (row) => all("td:not(.ab-bar, .attn-value)", text, row)),
            values: all(".ab-row td.attn-value", (cell) => cell.textContent.split(", ")),
            output: all(".ab-output span", text),
            colours: all("[role=grid] .ab-weight", (cell) => cell.style.getPropertyValue("--w")),
            bars: all(".ab-bar", (bar) => bar.style.getPropertyValue("--w")),
            hatched: all("[role=grid] tbody td", (cell) => String(Number(cell.classList.contains("ab-blocked")))),
            nothing: all(".ab-row .ab-hint", (note) => String(Number(!note.hidden))),
        };
    }""",
    "scale_lab": """(node) => {
        const panels = [...node.querySelectorAll("section")];
        const heights = (place) => panels.map((panel) =>
            [...panel.querySelectorAll("svg")[place].children].map((bar) => bar.getAttribute("height")));
        return {
            numbers: panels.map((panel) => [...panel.querySelectorAll("dd")].map((number) => number.textContent)),
            histogram: heights(0),
            weights: heights(1),
        };
    }""",
}


def attention_heatmap(widget) -> dict[str, Tensor]:
    L = len(widget.tokens)
    if widget.q_LK:
        q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in (widget.q_LK, widget.k_LK, widget.v_LV))
    else:
        q = k = v = torch.stack([word_vectors().get(t.lower(), torch.zeros(16)) for t in widget.tokens]).double()
    sees = torch.ones(L, L, dtype=torch.bool)
    if widget.mask == "causal":
        sees = sees.tril()
    if widget.mask == "padding":
        sees[:, widget.length :] = False
    if widget.mask == "paint":
        for i, j in widget.blocked:
            sees[i : i + 1, j : j + 1] = False  # a slice: words may be gone that once were blocked
    scores = q @ k.T
    scaled = scores / {"none": 1, "sqrt": q.shape[-1] ** 0.5, "d": q.shape[-1]}[widget.scale] / widget.temperature
    masked = scaled.masked_fill(~sees, -torch.inf)
    weights = F.softmax(masked, -1).nan_to_num(0)
    stages = {"scores": scores, "scaled": scaled, "masked": masked, "weights": weights}
    shows_mask = widget.stage in ("masked", "weights")
    asks = min(widget.query, L - 1)
    return {
        "cells": stages[widget.stage],
        "row": torch.stack([scores[asks], masked[asks], weights[asks]], -1),
        "values": v if widget.q_LK else torch.tensor([]),
        "output": (weights @ v)[asks],
        "colours": weights.flatten() if widget.stage == "weights" else torch.tensor([]),
        "bars": weights[asks],
        "hatched": (~sees & shows_mask).flatten(),
        "nothing": ~sees[asks].any(-1, keepdim=True),
    }


def scale_lab(widget) -> dict[str, Tensor]:
    width = widget.width
    q, k = (normals(widget.seed, 96 * 1024).view(96, 1024)[:, :width] * widget.size).split([32, 64])
    numbers, histograms, weights = [], [], []
    for divisor in (1, width**0.5, width):
        scores = q @ k.T / divisor
        p = F.softmax(scores, -1)
        jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        gradient = jacobian.flatten(1).norm(dim=1).median()
        entropy = torch.special.entr(p).sum(-1).mean()
        numbers.append(torch.stack([scores.std(correction=0), p.amax(-1).mean(), entropy, gradient]))
        counts = torch.histc(scores.clamp(-8, 8), 33, -8, 8)
        histograms.append(40 * counts / counts.max())
        weights.append(40 * p[0])
    return {"numbers": torch.stack(numbers), "histogram": torch.stack(histograms), "weights": torch.stack(weights)}


ORACLE = {"attention_heatmap": attention_heatmap, "scale_lab": scale_lab}


def shown(node: Locator) -> dict[str, list]:
    """Every number that a widget shows, as text, after the frame that follows the last input."""
    node.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return node.evaluate(READ[node.get_attribute("data-afm")])


def differences(texts: dict[str, list], widget: BookWidget) -> list[str]:
    """Where what is shown is not what PyTorch says, to half a unit of the last decimal."""
    want = ORACLE[widget.name](widget)
    found = [f"shows {sorted(texts)}, expected {sorted(want)}"] if texts.keys() != want.keys() else []
    for name, numbers in want.items():
        got, exact = flat(texts[name]), numbers.double().flatten().tolist()
        if len(got) != len(exact):
            found.append(f"{name}: {len(got)} numbers, expected {len(exact)}")
        for place, (text, x) in enumerate(zip(got, exact, strict=False)):
            if not agrees(text, x):
                found.append(f"{name}[{place}] shows {text!r}, torch says {x:.6g}")
    return found


def flat(texts) -> list[str]:
    return [text for part in texts for text in flat(part)] if isinstance(texts, list) else [texts]


def agrees(text: str, x: float) -> bool:
    """
    >>> agrees("−0.33", -1 / 3), agrees("0.34", 1 / 3), agrees("−∞", -torch.inf), agrees("1", 0.9)
    (True, False, True, False)
    """
    if text == "−∞":
        return x == -torch.inf
    number = re.fullmatch(r"-?\d+(?:\.(\d+))?(?:e(-?\d+))?", text.replace("−", "-"))
    if not number:
        return False
    decimals = min(len(number[1]), 9) if number[1] else 9  # a number without decimals must be whole
    return abs(float(number[0]) - x) <= 0.5001 * 10.0 ** (int(number[2] or 0) - decimals)
