"""What each widget shows on the page, beside what PyTorch says it must show."""

import copy
import math
import re
from functools import cache, partial
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange
from playwright.sync_api import Locator, expect
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right

from attnbook import (
    DecoderBlock,
    EncoderBlock,
    KVCache,
    MultiHeadAttention,
    SelfAttention,
    additive_scores,
    attention,
    capture_attention,
    causal,
    greedy,
    masked_softmax,
    peers,
    sinusoidal,
)
from attnbook.data import FOLDER, english_vectors, word_vectors
from attnbook.learning.complexity import Convolution, Kind, Recurrence
from attnbook.learning.text import START, STOP
from attnbook.tasks.dates import date_reader, date_transformer
from attnbook.tasks.marks import finders
from attnbook.tasks.senses import three_matrices
from attnbook.widgets import MaskMap
from attnbook.widgets import block_stepper as block_stepper_module
from attnbook.widgets import online_softmax as online_softmax_module
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.random import normals
from attnbook.widgets.shift_lab import KEY, QUERY

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
    "word_map": """(node) => {
        const parts = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => parts(selector).map((part) => part.textContent);
        const chosen = node.querySelector(".ab-marks").getAttribute("d");
        return {
            view: node.querySelector("svg").getAttribute("viewBox").split(" "),
            cosines: texts("li .ab-number"),
            kept: texts(".ab-kept"),
            chosen: chosen ? chosen.slice(1).split("h")[0].split(" ") : [],
        };
    }""",
    "analogy_bench": """(node) => {
        const shown = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        return {
            cosines: shown("tbody .ab-number").map((part) => part.textContent),
            bars: shown(".ab-bar i").map((bar) => bar.style.getPropertyValue("--w")),
            asked: shown("tbody tr").map((row) => String(Number(row.classList.contains("ab-asked")))),
            figures: shown("dd").map((part) => part.textContent),
            ways: shown("svg").flatMap((svg) => { // in the picture, two sides and the dashed line, over the first side
                const pairs = (path) => path.getAttribute("d").match(/[-\\d.e]+ [-\\d.e]+/g);
                const ends = (path) => pairs(path).map((pair) => pair.split(" ").map(Number));
                const [a, b, corner, c] = ends(svg.querySelector(".ab-shape"));
                const [, answer] = ends(svg.querySelector(".ab-error"));
                const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
                const ways = far(a, b) ? [far(a, c), far(b, corner), far(corner, answer)] : [];
                return ways.map((way) => String(way / far(a, b)));
            }),
        };
    }""",
    "length_slider": """(node) => ({
        numbers: [...node.querySelectorAll("td.ab-number")].map((cell) => cell.textContent),
        nearer: [...node.querySelectorAll(".ab-nearer")]
            .map((cell) => String(["both", "a", "b"].indexOf(cell.textContent))),
        arrows: [...node.querySelectorAll(".ab-shaft")].map((shaft) => shaft.getAttribute("d").slice(5).split(" ")),
    })""",
    "paint_mask": """(node) => {
        const [scores, exps, weights] = node.querySelectorAll(".ab-steps table");
        const cells = (table) => [...table.querySelectorAll("tbody tr")]
            .map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
        return {
            scores: cells(scores),
            exps: cells(exps),
            weights: cells(weights),
            hatched: [...scores.querySelectorAll("tbody td")].map((c) => String(Number(c.matches(".ab-blocked")))),
            colours: [...weights.querySelectorAll(".ab-weight")].map((cell) => cell.style.getPropertyValue("--w")),
            off: [...weights.querySelectorAll(".ab-sum[class]:is(td)")]
                .map((cell) => String(Number(cell.matches(".ab-off")))),
            answers: [...node.querySelectorAll(".ab-answers")].filter((table) => table.checkVisibility()).map(cells),
        };
    }""",
    "fill_value": """(node) => {
        const panels = [...node.querySelectorAll(".ab-panel")].map((panel) =>
            [...panel.querySelectorAll("td")].map((cell) => cell.textContent));
        return {
            errors: panels.map((texts) => String(Number(texts.includes("–")))),
            numbers: panels.filter((texts) => !texts.includes("–")),
            good: [...node.querySelectorAll(".ab-verdict")].map((said) => String(Number(said.matches(".ab-good")))),
        };
    }""",
    "polarity": """(node) => {
        const cells = [...node.querySelectorAll("[role=gridcell]")];
        const is = (name) => cells.map((cell) => String(Number(cell.matches(name))));
        const [listing] = node.querySelector("pre").textContent.split("\\n\\n");
        const numbers = { True: "1", False: "0", "-inf": "−∞" };
        return {
            mask: listing.includes("tensor") ? listing.match(/True|False|-inf|\\d/g).map((x) => numbers[x] ?? x) : [],
            sees: is(".ab-sees"),
            wrong: is(".ab-wrong"),
            score: node.querySelector(".ab-score").textContent.match(/\\d+/g) ?? [],
        };
    }""",
    "cue_scene": """(node) => {
        const rows = [...node.querySelectorAll("tbody tr:not(.ab-asks)")];
        const texts = (nodes) => [...nodes].map((cell) => cell.textContent);
        return {
            numbers: rows.map((row) => texts(row.querySelectorAll(".ab-number"))),
            query: texts(node.querySelectorAll(".ab-asks .ab-number")),
            bars: rows.map((row) => row.querySelector(".ab-bar").style.getPropertyValue("--w")),
            lights: [...node.querySelectorAll(".ab-gaze")].map((light) => light.getAttribute("r")),
        };
    }""",
    "soft_dictionary": """(node) => {
        const rows = [...node.querySelectorAll("tbody tr")];
        const texts = (nodes) => [...nodes].map((cell) => cell.textContent.replace(" °C", ""));
        const [exact, soft] = texts(node.querySelectorAll("dd"));
        const [query] = node.querySelectorAll(".ab-query");
        const place = (dot) => ["cx", "cy"].map((name) => dot.getAttribute(name));
        const places = (name) => [...node.querySelectorAll(name)].map(place);
        return {
            numbers: rows.map((row) => texts(row.querySelectorAll(".ab-number"))),
            bars: rows.map((row) => row.querySelector(".ab-bar").style.getPropertyValue("--w")),
            pulls: [...node.querySelectorAll(".ab-pull")].map((line) => line.getAttribute("stroke-width")),
            query: places(".ab-query"),
            keys: places(".ab-key"),
            exact: exact.startsWith("nothing") ? [] : [exact],
            soft,
        };
    }""",
    "kernel_regression": """(node) => {
        const place = (dot) => ["cx", "cy"].map((name) => dot.getAttribute(name));
        const circles = (name) => [...node.querySelectorAll(name)].map(place);
        const index = (name, of) => String([...node.querySelectorAll(of)].findIndex((part) => part.matches(name)));
        return {
            numbers: [...node.querySelectorAll("dd")].map((cell) => cell.textContent),
            curve: node.querySelector(".ab-curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ")),
            points: circles(".ab-point"),
            answer: circles(".ab-answer"),
            heat: [...node.querySelectorAll(".ab-heat i")].map((cell) => cell.style.getPropertyValue("--w")),
            here: index(".ab-here", ".ab-heat > div"),
            chosen: index(".ab-chosen", ".ab-point"),
        };
    }""",
    "tanh_sum": """(node) => {
        const places = (path) => path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" "));
        const dots = [...node.querySelectorAll("circle")];
        return {
            numbers: [...node.querySelectorAll("td.ab-number")].map((cell) => cell.textContent).filter(Boolean),
            curves: ["first", "second", "sum", "dot"].map((name) => places(node.querySelector(`.ab-plot .ab-${name}`))),
            dots: dots.map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name))),
            line: ["x1", "x2"].map((end) => node.querySelector(".ab-here").getAttribute(end)),
            tip: node.querySelector(".ab-tip").getAttribute("x"),
            key: node.querySelector("caption").textContent.match(/[-−.0-9]+/)[0],
        };
    }""",
    "alignment_player": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const codes = (texts) => texts.map((text) => String(text.codePointAt(0)));
        const lists = seen(".ab-lists table");
        return {
            written: codes([...node.querySelector(".ab-written").textContent]),
            read: codes(seen(".ab-map thead th").map((head) => head.textContent)),
            rows: codes(seen(".ab-map tbody th").map((head) => head.textContent)),
            weights: seen(".ab-map td.ab-weight").map((cell) => cell.textContent).filter(Boolean),
            colours: seen(".ab-map td.ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            here: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
            best: lists.map((list) => [...list.querySelectorAll("tbody tr")].filter((row) => row.checkVisibility())
                .map((row) => row.querySelector(".ab-number").textContent)),
            bars: seen(".ab-lists .ab-bar i").map((bar) => bar.style.getPropertyValue("--w")),
            now: node.querySelector(".ab-now").textContent.match(/\\d+(?=, the)/g) ?? [],
            value: node.querySelector("input[type=range]").getAttribute("aria-valuetext").match(/\\d+/g),
            places: seen(".ab-lists table:first-child tbody th").map((th) => th.textContent.match(/\\d+(?=\\)$)/)[0]),
            letters: codes(lists.flatMap((list) => [...list.querySelectorAll("tbody th")]
                .filter((head) => head.checkVisibility()).map((head) => head.textContent))),
        };
    }""",
    "live_transformer": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
        const texts = (selector) => seen(selector).map((part) => part.textContent);
        return {
            written: codes([node.querySelector(".ab-written").textContent]),
            columns: codes(texts(".ab-map thead th")),
            rows: codes(texts(".ab-map tbody th")),
            weights: texts(".ab-map td.ab-weight").filter(Boolean),
            colours: seen(".ab-map td.ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            here: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
            chances: texts(".ab-lists .ab-number"),
            bars: seen(".ab-lists .ab-bar i").map((bar) => bar.style.getPropertyValue("--w")),
            letters: codes(texts(".ab-lists tbody th")),
            pressed: seen(".ab-lists button").map((key) => String(Number(key.ariaPressed === "true"))),
            now: node.querySelector(".ab-now").textContent.match(/\\d+(?=, the)|-?\\d+\\.\\d+/g) ?? [],
            instead: codes(node.querySelector(".ab-yours").textContent.match(/(?<=have written ).(?=\\.)/u) ?? []),
            value: node.querySelector("input[type=range]").getAttribute("aria-valuetext").match(/\\d+/g),
            most: node.querySelector("input[type=range]").max,
            caption: String([/^A row for each letter written, a/, /^A row for each letter written, w/, /letter read, w/]
                .findIndex((start) => start.test(node.querySelector("caption").textContent))),
        };
    }""",
    "block_stepper": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => seen(selector).map((part) => part.textContent);
        const names = ["input", "norm 1", "weights", "attention", "sum 1", "hidden layer", "feed-forward", "norm 2",
            "sum 2"];
        return {
            flow: texts(".ab-flow button").map((name) => String(names.indexOf(name))),
            pressed: seen(".ab-flow button").map((key) => String(Number(key.ariaPressed === "true"))),
            numbers: texts(".ab-tensor td:is(.ab-signed, .ab-weight)"),
            signs: seen(".ab-tensor td.ab-signed").map((cell) => cell.style.getPropertyValue("--s")),
            colours: seen(".ab-tensor td.ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            lengths: texts(".ab-tensor .ab-length"),
            shape: node.querySelector(".ab-says + .ab-hint").textContent.match(/\\d+/g),
            names: texts(".ab-tensor th").flatMap((name) => [...name].map((letter) => String(letter.codePointAt(0)))),
            says: String([/^What this block/, /^Each vector/, /^Self-att/, /^What att/, /^Shortcut.*attention/,
                /^Again/, /^Inside/, /^Back/, /^Shortcut.*feed-forward/, /^Without/]
                .findIndex((start) => start.test(node.querySelector(".ab-says").textContent))),
            stream: texts(".ab-stream .ab-number"),
            bars: seen(".ab-stream i").map((bar) => bar.style.getPropertyValue("--w")),
            here: seen(".ab-stream tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
        };
    }""",
    "mask_map": """(node) => {
        const all = (selector) => [...node.querySelectorAll(selector)];
        const codes = (texts) => texts.flatMap((text) => [...text].map((letter) => String(letter.codePointAt(0))));
        const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
        const cells = all("[role=gridcell]");
        const [knows, next] = node.querySelector(".ab-knows").textContent.split(". ");
        return {
            tokens: codes(all("[role=grid] th").map((head) => head.textContent)),
            sees: is(cells, ".ab-yes"),
            hidden: is(cells, ".ab-no"),
            framed: is(cells, ".ab-wrong"),
            reaches: is(all("[role=grid] thead th"), ".ab-reaches"),
            here: is(all("[role=grid] tbody tr"), ".ab-here"),
            layers: knows.match(/\\d/),
            knows: codes(knows.split(": ")[1].replace(/\\.$/, "").split(", ")),
            next: codes(next?.match(/(?<=“).*(?=”)/) ?? []),
            found: all(".ab-found li:not([hidden])").map((line) => {
                const kinds = ["Told", "See", "Know", "Can't"];
                const names = line.textContent.match(/(?<=: )[^.]*/)?.[0].split(", ") ?? [];
                return [String(kinds.indexOf(line.textContent.match(/^[A-Z][a-z']+/)[0])), ...codes(names)];
            }),
            said: codes(cells.map((cell) => cell.ariaLabel)),
        };
    }""",
    "online_softmax": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const texts = (selector) => seen(selector).map((part) => part.textContent);
        const verdict = node.querySelector(".ab-verdict").textContent;
        return {
            tape: texts(".ab-tape tbody td").filter((text) => text !== ""),
            colours: seen(".ab-tape .ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            read: seen(".ab-tape thead th:not(:first-child)").map((head) => String(Number(head.matches(".ab-read")))),
            now: seen(".ab-tape thead th:not(:first-child)").map((head) => String(Number(head.matches(".ab-now")))),
            log: texts(".ab-log tbody td").filter((text) => text !== ""),
            here: seen(".ab-log tbody tr").map((row) => String(Number(row.matches(".ab-here")))),
            exact: verdict.match(/[\\d.]+\\d/),
            same: String(["Not all", "The same", "Not the"].findIndex((start) => verdict.includes(`. ${start}`))),
            at: node.querySelector("input[type=range]").getAttribute("aria-valuetext").match(/\\d+/g),
        };
    }""",
    "cache_stepper": """(node) => {
        const all = (selector) => [...node.querySelectorAll(selector)];
        const is = (parts, name) => parts.map((part) => String(Number(part.matches(name))));
        const [now, sum, wrong, weighs] = all("[role=status]").map((part) => part.textContent);
        const kinds = ["computed", "computed earlier", "not seen"];
        const cells = all(".ab-map tbody td");
        return {
            cells: cells.map((cell) => String(kinds.indexOf(cell.ariaLabel))),
            colours: cells.map((cell) => String(["now", "kept", "never"].findIndex((is) => cell.matches(`.ab-${is}`)))),
            framed: is(cells, ".ab-off"),
            later: is(all(".ab-map tbody tr"), ".ab-later"),
            now: now.match(/\\d+/g),
            sum: sum.match(/\\d+/g),
            other: String(Number(sum.includes("with a cache"))),
            wrong: wrong.match(/\\d+/) ?? ["0"],
            weighs: weighs.match(/[\\d.]+ .B/),
            at: all("input[type=range]")[2].getAttribute("aria-valuetext").match(/\\d+/g),
            tokens: all("input[type=range]")[3].getAttribute("aria-valuetext").replaceAll(",", ""),
        };
    }""",
    "head_split": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const number = (name) => String("abcdef".indexOf(name[0]) * 6 + Number(name[1]));
        return {
            step: node.querySelector(".ab-value").textContent[0],
            places: [...node.querySelectorAll(".ab-cell")].map((c) => c.getAttribute("transform").match(/[\\d.]+/g)),
            heads: seen("th").flatMap((th) => [...th.textContent].map((c) => String(c.codePointAt(0)))),
            words: seen("tbody td").flatMap((cell) => cell.textContent.split(" ").map(number)),
            shape: node.querySelector(".ab-shape").textContent.split("=")[1].match(/\\d+/g),
        };
    }""",
    "head_ablation": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
        return {
            text: codes(seen(".ab-map thead th")),
            weights: seen(".ab-map .ab-weight").map((cell) => cell.textContent),
            colours: seen(".ab-map .ab-weight").map((cell) => cell.style.getPropertyValue("--w")),
            off: seen(".ab-map tbody tr").map((row) => String(Number(row.matches(".ab-off")))),
            on: seen(".ab-switches button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
            letters: codes(seen(".ab-answers td:nth-of-type(odd)")),
            chances: seen(".ab-answers td:nth-of-type(2)").map((cell) => cell.textContent),
            wrong: seen(".ab-answers tbody tr").map((row) => String(Number(row.matches(".ab-wrong")))),
            figures: seen("dd").map((figure) => figure.textContent.replace(" %", "")),
        };
    }""",
    "head_budget": """(node) => ({
        numbers: [...node.querySelectorAll(".ab-number")].map((cell) => cell.textContent),
        pieces: String([...node.querySelectorAll(".ab-strip i")].filter((piece) => piece.checkVisibility()).length),
        strip: node.querySelector("figcaption").textContent.match(/\\d+/g),
        same: [...node.querySelectorAll("tbody tr")].map((row) => String(Number(row.matches(".ab-same")))),
    })""",
    "bank_in_context": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const codes = (parts) => parts.flatMap((part) => [...part.textContent].map((c) => String(c.codePointAt(0))));
        return {
            line: codes(seen(".ab-line button")),
            asks: seen(".ab-line button").map((key) => String(Number(key.getAttribute("aria-pressed") === "true"))),
            extra: codes(seen(".ab-tray").slice(8)),
            numbers: seen(".ab-look .ab-number").map((cell) => cell.textContent),
            bars: seen(".ab-look .ab-bar").map((bar) => bar.style.getPropertyValue("--w")),
            rows: codes(seen(".ab-look tbody th")),
            words: codes(seen(".ab-near tbody th")),
            cosines: seen(".ab-near .ab-number").map((cell) => cell.textContent),
        };
    }""",
    "cost_plane": """(node) => {
        const ends = (name) => (node.querySelector(name).getAttribute("d").match(/[-\\d.e]+ [-\\d.e]+/g) ?? []);
        const shade = node.querySelector(".ab-shade");
        const shaded = (x, y) => shade.isPointInFill(Object.assign(shade.ownerSVGElement.createSVGPoint(), { x, y }));
        const dots = [...node.querySelectorAll(".ab-dot, .ab-tip")];
        const label = [...node.querySelectorAll("svg svg text")].filter((text) => text.checkVisibility());
        return {
            costs: [...node.querySelectorAll("td.ab-number")].map((cell) => cell.textContent),
            figures: [...node.querySelectorAll("dd")].map((figure) => figure.textContent.replace(/ (%|times.*)$/, "")),
            border: ends(".ab-border").map((pair) => pair.split(" ")),
            half: ends(".ab-half").map((pair) => pair.split(" ")),
            shaded: [5, 7, 9, 11, 13, 15, 17, 19].map((n) => String(Number(shaded((n - 4.01) * 24, 120)))),
            dots: dots.map((dot) => ["cx", "cy"].map((name) => dot.getAttribute(name))),
            lines: label.map((text) => text.textContent.match(/n = ([\\d.]+) d/)?.[1]).filter(Boolean),
            never: String(Number(node.querySelector(".ab-hint:last-child").checkVisibility())),
            kernel: node.querySelector("tbody tr:last-child th").textContent.match(/\\d+/)[0],
            chosen: [...node.querySelectorAll("tbody tr")].map((row) => String(Number(row.matches(".ab-chosen")))),
        };
    }""",
    "signal_race": """(node) => {
        const seen = (root, selector) => [...root.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const [now, total] = node.querySelectorAll("tbody");
        const numbers = (body) => [...body.querySelectorAll(".ab-number")].map((cell) => cell.textContent);
        return {
            knows: seen(node, ".ab-strip i").map((token) => String(Number(token.matches(".ab-knows")))),
            said: seen(node, ".ab-strip").flatMap((strip) => strip.getAttribute("aria-label").match(/\\d+/g)),
            layers: seen(node, ".ab-lane .ab-hint").flatMap((note) => note.textContent.match(/\\d+/g) ?? []),
            now: numbers(now),
            total: numbers(total),
            bars: [...total.querySelectorAll(".ab-bar")].map((bar) => bar.style.getPropertyValue("--w")),
            first: [...total.querySelectorAll("tr")].map((row) => String(Number(row.matches(".ab-first")))),
        };
    }""",
    "clock_hands": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        const at = (part, ...names) => names.map((name) => part.getAttribute(name));
        return {
            hands: seen(".ab-faces line").map((line) => at(line, "x2", "y2")),
            said: node.querySelector(".ab-faces").getAttribute("aria-label").match(/\\d+/g),
            curve: node.querySelector(".ab-curve").getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ")),
            marks: seen(".ab-plot circle").map((mark) => at(mark, "cx", "cy")),
            figures: seen("dd").map((figure) => figure.textContent.replace(/,| positions/g, "")),
        };
    }""",
    "shift_lab": """(node) => {
        const seen = (selector) => [...node.querySelectorAll(selector)].filter((part) => part.checkVisibility());
        return {
            numbers: seen("td.ab-number").map((cell) => cell.textContent),
            heads: seen("thead th").flatMap((head) => head.textContent.match(/\\d+$/) ?? []),
            hands: seen("line").map((line) => ["x2", "y2"].map((end) => line.getAttribute(end))),
            scores: seen("dd").map((score) => score.textContent),
            moves: seen("caption").flatMap((caption) => caption.textContent.match(/[-−]?\\d+/g) ?? []),
        };
    }""",
    "find_the_bug": """(node) => {
        const all = (selector) => [...node.querySelectorAll(selector)];
        const codes = (text) => [...text].map((c) => String(c.codePointAt(0)));
        return {
            words: all("td span:first-child").flatMap((word) => codes(word.textContent)),
            outputs: all("td .ab-number").map((output) => output.textContent),
            moved: all("td:has(.ab-number)").map((cell) => String(Number(cell.matches(".ab-moved")))),
            pressed: all("button[aria-pressed]").map((key) => String(Number(key.ariaPressed === "true"))),
            right: node.querySelector(".ab-verdict").textContent.replace("All three", "3").match(/^\\d/) ?? [],
            was: all(".ab-panel .ab-hint:last-child").map((note) => String(Number(note.textContent !== ""))),
            count: all("table + .ab-hint").map((note) => note.textContent[0]),
        };
    }""",
    "scale_lab": """(node) => {
        const panels = [...node.querySelectorAll(".ab-panel")];
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


def word_map(widget) -> dict[str, Tensor]:
    x, y, zoom = widget.x, widget.y, widget.zoom
    view = torch.tensor([x - 1 / zoom, y - 0.8 / zoom, 2 / zoom, 1.6 / zoom], dtype=torch.float64)
    nothing = torch.tensor([])
    if not widget.word:
        return {"view": view, "cosines": nothing, "kept": nothing, "chosen": nothing}
    row, vectors, places = english_vectors().index[widget.word], doubles(), widget.places()
    cosines = F.cosine_similarity(vectors[row], vectors, dim=-1)
    cosines[row] = -2
    best = cosines.topk(10)
    on_map = (places - places[row]).square().sum(-1).topk(11, largest=False).indices
    kept = torch.isin(best.indices, on_map).sum()
    return {"view": view, "cosines": best.values, "kept": kept, "chosen": places[row]}


def analogy_bench(widget) -> dict[str, Tensor]:
    if not widget.asked:
        return dict.fromkeys(["cosines", "bars", "asked", "figures", "ways"], torch.tensor([]))
    rows = torch.tensor([english_vectors().index[word] for word in (widget.a, widget.b, widget.c)])
    units = F.normalize(doubles(), dim=-1)
    a, b, c = units[rows]
    corner = b - a + c
    cosines = F.cosine_similarity(corner, units, dim=-1)
    if widget.queries == "out":
        cosines[rows] = -2
    best = cosines.topk(8)
    gap = units[best.indices[0]] - corner
    plane = torch.stack([b - a, c - a], -1)
    flat = plane @ torch.linalg.lstsq(plane, gap[:, None], driver="gelsd").solution[:, 0]  # its shadow on the plane
    first, second, shadow = (b - a).norm(), (c - a).norm(), flat.norm()
    return {
        "cosines": best.values,
        "bars": best.values.clamp(min=0),
        "asked": torch.isin(best.indices, rows),
        "figures": torch.stack([first, second, gap.norm(), (gap - flat).norm()]),
        "ways": torch.stack([second, second, shadow]) / first if first else torch.tensor([]),
    }


def length_slider(widget) -> dict[str, Tensor]:
    angles = torch.deg2rad(torch.tensor([0.0, widget.angle_a, widget.angle_b], dtype=torch.float64))
    lengths = torch.tensor([1.0, widget.length_a, widget.length_b], dtype=torch.float64)
    arrows = torch.stack([lengths * angles.cos(), lengths * angles.sin()], -1)
    both = torch.stack([arrows[1:] @ arrows[0], F.cosine_similarity(arrows[1:], arrows[:1])])
    same = (both[:, 0] - both[:, 1]).abs() < 1e-9
    nearer = torch.where(same, 0, 1 + both.argmax(-1))
    return {"numbers": both, "nearer": nearer, "arrows": arrows * torch.tensor([40, -40])}


def paint_mask(widget) -> dict[str, Tensor]:
    scores = torch.tensor(widget.scores_LM, dtype=torch.float64)
    M = len(scores)
    mask = torch.ones(M, M, dtype=torch.bool)
    for i, j in widget.blocked:
        mask[i : i + 1, j : j + 1] = False  # a slice: a cell need not be there
    shown = (
        scores.masked_fill(~mask, {"before": -torch.inf, "zero": 0}[widget.hide]) if widget.hide != "after" else scores
    )
    exps = (shown / widget.temperature).exp()
    weights = exps / exps.sum(-1, keepdim=True)
    weights = weights.nan_to_num(0) * (mask if widget.hide == "after" else 1)
    sums = weights.sum(-1, keepdim=True)
    return {
        "scores": shown,
        "exps": torch.cat([exps, exps.sum(-1, keepdim=True)], -1),
        "weights": torch.cat([weights, sums], -1),
        "hatched": (~mask).flatten(),
        "colours": weights,
        "off": (sums - 1).abs().flatten() > 1e-9,
        "answers": torch.tensor([]) if mask.any(-1).all() else answers_for_an_empty_row(M),
    }


@cache
def answers_for_an_empty_row(M: int) -> Tensor:
    """What each code gives, asked here and now; values are the identity matrix, so that outputs are weights."""
    none, eye, d2l = torch.zeros(M, M, dtype=torch.bool), torch.eye(M), peers.d2l()
    mha = nn.MultiheadAttention(M, 1, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(eye.repeat(3, 1))
        mha.out_proj.weight.copy_(eye)
        _, weights = mha(eye, eye, eye, attn_mask=~none)
        unasked, _ = mha(eye, eye, eye, attn_mask=~none, need_weights=False)
    nothing = torch.zeros(1, M).long()
    rows = [
        attention(eye, eye, eye, none)[1],
        torch.full((M, M), -torch.inf).softmax(-1),
        F.scaled_dot_product_attention(eye, eye, eye, none),
        weights,
        unasked,
        d2l.masked_softmax(torch.eye(M)[None], nothing)[0],
        d2l.masked_softmax(torch.eye(M)[None].half(), nothing)[0].float(),
    ]
    return torch.stack([row[0] for row in rows])


def fill_value(widget) -> dict[str, Tensor]:
    errors, numbers, good = [], [], []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        scores = torch.tensor([2.0, 1, 0, 3, 1], dtype=dtype) + widget.shift
        hidden = torch.tensor([widget.hidden == "all"] * 3 + [True] * 2)
        fill = torch.finfo(dtype).min if widget.fill == "lowest" else float(widget.fill)
        try:
            masked = scores + hidden.to(dtype) * fill if widget.how == "add" else scores.masked_fill(hidden, fill)
        except RuntimeError:
            errors, good = [*errors, True], [*good, False]
            continue
        weights = masked.softmax(-1)
        leak = weights[hidden].double().sum()
        apart = scores[:3].unique().numel() == 3
        errors, good = [*errors, False], [*good, bool(leak == 0 and widget.hidden == "two" and apart)]
        numbers += [torch.stack([scores, masked, weights], -1).double().flatten(), leak[None]]
    return {"errors": torch.tensor(errors), "numbers": torch.cat(numbers), "good": torch.tensor(good)}


def polarity(widget) -> dict[str, Tensor]:
    asked = max(len(widget.given) - widget.revealed, 0)
    sees = who_sees_whom(*widget.question(widget.seed, asked))
    marked = cells(widget.given[-1] if widget.revealed and widget.given else [] if widget.revealed else widget.seen)
    answers = [cells(given) for given in widget.given]
    right = [bool((a == who_sees_whom(*widget.question(widget.seed, n))).all()) for n, a in enumerate(answers)]
    mask = widget.question(widget.seed, asked)[1]
    return {
        "mask": torch.tensor([]) if mask is None else mask,
        "sees": sees if widget.revealed else marked,
        "wrong": (sees != marked) & widget.revealed,
        "score": torch.tensor([sum(right), len(right)] if right else []),
    }


def cells(marked: list) -> Tensor:
    return torch.tensor([[[i, j] in marked for j in range(4)] for i in range(3)])


def who_sees_whom(call: str, mask: Tensor | None) -> Tensor:
    """Asked of the code itself: whose weight is not 0?"""
    draw = torch.Generator().manual_seed(2)
    q, k, v = torch.randn(3, 4, generator=draw), torch.randn(4, 4, generator=draw), torch.eye(4)
    sdpa = partial(F.scaled_dot_product_attention, q, k, v)
    mha = nn.MultiheadAttention(4, 1, batch_first=True)
    asked = {
        "book": lambda: attention(q, k, v, mask)[1],
        "sdpa": lambda: sdpa(mask),
        "sdpaAdded": lambda: sdpa(mask),
        "mha": lambda: mha(q, k, v, attn_mask=mask)[1],
        "mhaPadding": lambda: mha(q, k, v, key_padding_mask=mask)[1],
        "fill": lambda: (q @ k.T).masked_fill(mask, -torch.inf).softmax(-1),
        "d2l": lambda: peers.d2l().masked_softmax((q @ k.T)[None], mask[None])[0],
        "causal": lambda: attention(q, k, v, causal(3, 4))[1],
        "isCausal": lambda: sdpa(is_causal=True),
    }
    return asked[call]().detach() > 0


def cue_scene(widget) -> dict[str, Tensor]:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    query = torch.tensor([widget.salience, widget.wish], dtype=torch.float64)
    scores = keys @ query
    weights = F.softmax(scores, -1)
    return {
        "numbers": torch.cat([keys, scores[:, None], weights[:, None]], -1),
        "query": query,
        "bars": weights,
        "lights": 48 * weights.sqrt(),
    }


def soft_dictionary(widget) -> dict[str, Tensor]:
    keys = torch.tensor(widget.keys_MK, dtype=torch.float64)
    values = torch.tensor(widget.values_M, dtype=torch.float64)
    place = torch.tensor([widget.x, widget.y], dtype=torch.float64)
    far = torch.cdist(place[None], keys)[0]
    scores = keys @ place if widget.score == "dot" else -far.square()
    weights = F.softmax(scores / widget.temperature, -1)
    flip = torch.tensor([20.0, -20.0], dtype=torch.float64)
    return {
        "numbers": torch.stack([scores, weights, values], -1),
        "bars": weights,
        "pulls": 12 * weights,
        "query": place * flip + torch.tensor([0, 200]),
        "keys": keys * flip + torch.tensor([0, 200]),
        "exact": values[far == 0],
        "soft": F.scaled_dot_product_attention(
            torch.zeros(1, 1, dtype=torch.float64),
            torch.zeros(len(keys), 1, dtype=torch.float64),
            values[:, None],
            (scores / widget.temperature)[None],
        ),
    }


def kernel_regression(widget) -> dict[str, Tensor]:
    x, y = torch.tensor(widget.points, dtype=torch.float64).T

    def weights(queries, mask=None):
        far = torch.cdist(queries[:, None], x[:, None]) / widget.width
        return masked_softmax(-far.square() / 2, mask)

    places, rows = torch.linspace(0, 5, 101, dtype=torch.float64), torch.linspace(0, 5, 21, dtype=torch.float64)
    query = torch.tensor([widget.query], dtype=torch.float64)
    answer = weights(query) @ y
    errors = [F.mse_loss(weights(x, mask) @ y, y) for mask in (None, ~torch.eye(len(x)).bool())]
    draw = lambda x, y: torch.stack([40 * x, 240 - 40 * y], -1)  # noqa: E731
    return {
        "numbers": torch.stack([answer[0], *errors]),
        "curve": draw(places, weights(places) @ y),
        "points": draw(x, y),
        "answer": draw(query, answer),
        "heat": weights(rows),
        "here": (rows - widget.query).abs().argmin(),
        "chosen": torch.tensor(min(widget.chosen, len(x) - 1)),
    }


def tanh_sum(widget) -> dict[str, Tensor]:
    w = torch.tensor([[widget.w1, widget.w2]], dtype=torch.float64)
    q, k = (torch.tensor([[x]], dtype=torch.float64) for x in (widget.q, widget.k))
    both = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)

    def scores(keys):
        units = torch.tanh(F.linear(q, both) + F.linear(keys, both.abs()))
        additive = additive_scores(F.linear(q, both), F.linear(keys, both.abs()), w[0])
        return torch.cat([units * w, additive.T, keys @ q], -1)

    keys = torch.linspace(-6, 6, 97, dtype=torch.float64)[:, None]
    first, second, total, product = here = scores(k)[0]
    units = torch.tanh(torch.stack([k + q, k - q]).flatten())
    curves = torch.stack([keys.expand(-1, 4), -scores(keys)], -1).transpose(0, 1)
    dots = torch.stack([k[0, 0] * torch.ones(2), -here[[3, 2]]], -1)
    return {
        "numbers": torch.stack([units[0], first, units[1], second, total, product]),
        "curves": 26 * curves,
        "dots": 26 * dots,
        "line": 26 * k.expand(2, 1),
        "tip": 26 * k - 18,
        "key": k,
    }


def alignment_player(widget) -> dict[str, Tensor]:
    model, known = date_reader()
    model = copy.deepcopy(model).double()
    source, prompt = known.encode([widget.text]), torch.tensor([[START]])
    ids = greedy(model, prompt, source, stop=STOP, length=12)
    weights, chances = model.alignment(source, ids[:, :-1])[0], model(source, ids[:, :-1])[0].softmax(-1)
    signs = lambda numbers: [{" ": "·", "<stop>": "■"}.get(known.tokens[n], known.tokens[n]) for n in numbers]  # noqa: E731
    codes = lambda letters: torch.tensor([ord(letter) for letter in letters])  # noqa: E731
    read, written = signs(source[0].tolist()), signs(ids[0, 1:].tolist())
    step = min(widget.step, len(written))
    lists = (weights, chances[:, STOP:])  # padding and the start are never written
    tops = [numbers[step - 1].topk(min(3, numbers.shape[-1])) for numbers in lists] if step else []
    names = [read[j] for j in tops[0].indices] + signs((STOP + tops[1].indices).tolist()) if step else []
    nothing = torch.tensor([])
    return {
        "written": codes(written[:step]),
        "read": codes(read),
        "rows": codes(written[:step] + ["?"] * (len(written) - step)),
        "weights": weights[:step],
        "colours": weights * (torch.arange(len(written)) < step)[:, None],
        "here": torch.arange(len(written)) == step - 1,
        "best": torch.cat([top.values for top in tops]) if step else nothing,
        "bars": torch.cat([top.values for top in tops]) if step else nothing,
        "now": torch.tensor([step] * bool(step)),
        "value": torch.tensor([step, len(written)]),
        "places": 1 + tops[0].indices if step else nothing,
        "letters": codes(names),
    }


def live_transformer(widget) -> dict[str, Tensor]:
    """The whole of what is written is read again for each letter: nothing is kept between two steps."""
    model, known = date_transformer()
    model = copy.deepcopy(model).double()
    source, ids, forced, own = known.encode([widget.text]), [START], dict(map(tuple, widget.forced)), []
    while len(own) < 11 and ids[-1] != STOP:
        scores = model(source, torch.tensor([ids]))[0, -1]
        own.append(STOP + scores[STOP:].argmax().item())
        ids.append(forced.get(len(own) - 1, own[-1]))
    with capture_attention(model) as maps:
        chances = model(source, torch.tensor([ids[:-1]]))[0].softmax(-1)
    kind = {"encoder": "encoder.0.self", "decoder": "decoder.0.self", "cross": "decoder.0.cross"}[widget.where]
    heads = maps[f"{kind}_attention"][0]
    weights = heads[widget.head - 1] if widget.head else heads.mean(0)
    tokens = {" ": "·", "<stop>": "■", "<start>": "▸"}
    signs = lambda numbers: [tokens.get(known.tokens[n], known.tokens[n]) for n in numbers]  # noqa: E731
    codes = lambda letters: torch.tensor([ord(letter) for letter in letters])  # noqa: E731
    read, written, step = signs(source[0].tolist()), signs(ids[1:]), min(widget.step, len(own))
    shown = written[:step] + ["?"] * (len(written) - step)
    at, nothing = step - 1, torch.tensor([])
    top = chances[at, STOP:].topk(5) if step else None
    p = chances[at, ids[step]] if step else nothing
    if widget.where == "encoder":
        rows, columns, there = read, read, torch.ones(len(read), dtype=torch.bool)
    else:
        columns = read if widget.where == "cross" else ["▸", *shown[:-1]]
        rows, there = shown, torch.arange(len(written)) < step
    cells = weights[there] if widget.where != "decoder" else [row[: i + 1] for i, row in enumerate(weights[there])]
    return {
        "written": codes(written[:step]),
        "columns": codes(columns),
        "rows": codes(rows),
        "weights": torch.cat([*cells]) if len(cells) else nothing,
        "colours": weights * there[:, None],
        "here": (torch.arange(len(rows)) == at) & (widget.where != "encoder"),
        "chances": top.values if step else nothing,
        "bars": top.values if step else nothing,
        "letters": codes(signs((STOP + top.indices).tolist())) if step else nothing,
        "pressed": STOP + top.indices == ids[step] if step else nothing,
        "now": torch.tensor([step, p, -p.log()]) if step else nothing,
        "instead": codes(signs(own[at:step])) if step and own[at] != ids[step] else nothing,
        "value": torch.tensor([step, len(own)]),
        "most": torch.tensor(len(own)),
        "caption": torch.tensor(["cross", "decoder", "encoder"].index(widget.where)),
    }


def block_stepper(widget) -> dict[str, Tensor]:
    """An `EncoderBlock` that is watched while it runs."""
    found, xs = {}, [block_stepper_module.words()]

    def watch(block):
        def note(name, given=None):
            def hook(module, inputs, output):
                found[name] = output
                if given:
                    found[given] = inputs[0]

            return hook

        pre = widget.norm == "pre"
        block.self_attention_norm.register_forward_hook(note("norm1", None if pre else "add1"))
        block.self_attention.register_forward_hook(note("attention"))
        block.feed_forward_norm.register_forward_hook(note("norm2", "add1" if pre else "add2"))
        block.feed_forward[1].register_forward_hook(note("hidden"))
        block.feed_forward.register_forward_hook(note("forward"))

    for number in range(1, 7):
        block = block_stepper_module.block(number, widget.norm)
        if widget.shortcut == "without":
            block._around = lambda norm, x, f: f(norm(x)) if widget.norm == "pre" else norm(f(x))
        if number == widget.block:
            watch(block)
            with capture_attention(block) as maps:
                out = block(xs[-1][None])
            found |= {"in": xs[-1][None], "weights": maps["self_attention"]}
            found |= {"add2": out} if widget.norm == "pre" else {}
        xs.append(block(xs[-1][None])[0])
    shown = found[widget.part]
    is_weights, nothing = widget.part == "weights", torch.tensor([])
    order = ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"]
    if widget.norm == "post":
        order = ["in", "weights", "attention", "add1", "norm1", "hidden", "forward", "add2", "norm2"]
    names = ["in", "norm1", "weights", "attention", "add1", "hidden", "forward", "norm2", "add2"]
    sizes = torch.stack([x.norm(dim=-1).mean() for x in xs])
    cosines = [F.cosine_similarity(x[:, None], x[None], dim=-1)[~torch.eye(5, dtype=torch.bool)].mean() for x in xs]
    says = ["in", "norm1", "weights", "attention", "add1", "norm2", "hidden", "forward", "add2"]
    five = ["time", "flies", "like", "an", "arrow"]
    if is_weights:
        heads = [*five, *(f"head {h}: {word}" for h in (1, 2) for word in five)]
    else:
        heads = [*(str(n + 1) for n in range(shown.shape[-1])), "length", *five]
    zeros = [(shown == 0).sum()] if widget.part == "hidden" else []
    return {
        "flow": torch.tensor([names.index(part) for part in order]),
        "pressed": torch.tensor([part == widget.part for part in order]),
        "numbers": shown,
        "signs": nothing if is_weights else shown / shown.abs().max(),
        "colours": shown if is_weights else nothing,
        "lengths": nothing if is_weights else shown.norm(dim=-1),
        "shape": torch.tensor([*shown.shape, *zeros]),
        "names": torch.tensor([ord(letter) for name in heads for letter in name]),
        "says": torch.tensor(9 if widget.shortcut == "without" and "add" in widget.part else says.index(widget.part)),
        "stream": torch.stack([sizes, torch.stack(cosines)], -1),
        "bars": sizes / sizes.max(),
        "here": torch.arange(7) == widget.block,
    }


def mask_map(widget) -> dict[str, Tensor]:
    """Who knows of whom, from the gradients of a model with these masks."""
    names, seen = widget.tokens(), widget.mask()
    right = MaskMap(source=widget.source, target=widget.target).mask()
    torch.manual_seed(0)
    encoder = [EncoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]
    decoder = [DecoderBlock(8, 2, 16, 0.0, norm="pre").double() for _ in range(widget.layers)]

    def outputs(x):
        memory, y = x[None, :5], x[None, 5:]
        for block in encoder:
            memory = block(memory, seen[:5, :5])
        for block in decoder:
            y = block(y, memory, seen[5:, 5:], seen[5:, :5])
        return torch.cat([memory, y], 1)[0]

    x = torch.randn(10, 8, dtype=torch.float64, requires_grad=True)
    sums = (outputs(x) * torch.randn(10, 8)).sum(1)  # one number a row, on which all its numbers have an effect
    slopes = [torch.autograd.grad(number, x, retain_graph=True)[0] for number in sums]
    reach = torch.stack(slopes).abs().amax(-1) > 0
    real = [name != "pad" for name in names]
    where = range(10)
    bad = {
        "told": [i for i in where if i > 4 and any(j > i and real[j] and reach[i, j] for j in where)],
        "blind": [i for i in where if not seen[i, :5].any() or (i > 4 and not seen[i, 5:].any())],
        "pads": [i for i in where if any(reach[i, j] and not real[j] for j in where)],
        "missed": [i for i in where if any(not reach[i, j] and real[j] for j in range(5))],
    }
    lines = {n: [names[i] for i in rows if real[i]] for n, rows in enumerate(bad.values())}
    lines = {n: line for n, line in lines.items() if line} or {-1: []}
    codes = lambda texts: torch.tensor([ord(letter) for text in texts for letter in text])  # noqa: E731
    follows = [*["le", "chat", "noir", "dort"][: widget.target - 1], "stop"]
    parts = {(False, False): " (encoder: source asks source)", (False, True): ""}
    parts |= {(True, False): " (cross-attention: target asks source)", (True, True): " (decoder: target asks target)"}
    may = lambda i, j: "never" if i < 5 <= j else "may look" if seen[i, j] else "may not look"  # noqa: E731
    said = [f"{names[i]}, {names[j]}: {may(i, j)}{parts[i > 4, j > 4]}" for i in where for j in where]
    here, never = widget.row, torch.zeros(10, 10, dtype=torch.bool)
    never[:5, 5:] = True
    return {
        "tokens": codes(names + names),
        "sees": seen,
        "hidden": ~seen & ~never,
        "framed": seen != right,
        "reaches": reach[here],
        "here": torch.arange(10) == here,
        "layers": torch.tensor(widget.layers),
        "knows": codes([names[j] for j in where if reach[here, j]]),
        "next": codes([follows[here - 5]] if here > 4 and real[here] else []),
        "found": torch.cat([torch.tensor([n, *codes(line).tolist()]) for n, line in lines.items()]),
        "said": codes(said),
    }


def online_softmax(widget) -> dict[str, Tensor]:
    """Running sums, each a sum of exponentials by its definition; the weights by `softmax`."""
    scores = torch.tensor(online_softmax_module.SCORES[widget.scores]).double()
    values, block = torch.tensor([4.0, 0, 8, 2, 6, 10, 0, 4]).double(), widget.block
    step = min(range(8 // block + 1), key=lambda n: abs(n * block - widget.read))  # the nearest
    tops = scores.cummax(0).values[block - 1 :: block]  # after each block
    mine = tops.repeat_interleave(block)  # what was subtracted from a score when it was read
    log, parts = [], scores[:0]
    for n in range(1, step + 1):
        read = scores[: n * block]
        if widget.way == "rescale":
            m, parts = tops[n - 1], (read - tops[n - 1]).exp()
        elif widget.way == "forget":
            m, parts = tops[n - 1], (read - mine[: n * block]).exp()
        else:
            m, parts = torch.tensor(0.0), read.exp()
        before = tops[n - 2] if n > 1 else -torch.inf
        factor = (tops[n - 1] - before).neg().exp() if widget.way == "rescale" else 1.0
        output = parts @ values[: n * block]
        log += [m, factor, parts.sum(), output, output / parts.sum()]
    here, whole = (
        torch.arange(8) // block,
        F.scaled_dot_product_attention(
            torch.ones(1, 1, 1).double(), scores.view(1, 8, 1), values.view(1, 8, 1), scale=1.0
        ),
    )
    so_far, at_once = parts / parts.sum(), scores.softmax(0)
    answer = log[-1] if log else torch.nan
    return {
        "tape": torch.cat([scores, values, *((100 * x + 0.5).floor() for x in (so_far, at_once))]),  # halves go up
        "colours": torch.cat([so_far[so_far.isfinite()], at_once]),
        "read": here < step,
        "now": here == step - 1,
        "log": torch.tensor([0.0 if widget.way == "no maximum" else -torch.inf, *log]),
        "here": torch.arange(step + 1) == step,
        "exact": whole,
        "same": torch.tensor(0 if step < 8 // block else 1 if abs(answer - whole) < 1e-9 else 2),
        "at": torch.tensor([step, 8 // block]),
    }


def cache_stepper(widget) -> dict[str, Tensor]:
    """A layer that is watched while it reads and writes; what it may see is read off its weights."""
    read = list(range(0, widget.prompt, widget.chunk))
    stops = [*read[1:], *range(widget.prompt, 9)]
    step = min(widget.step, len(stops))
    layer, x = MultiHeadAttention(D=4, heads=1), torch.randn(1, 8, 4)
    rows = {}
    for kept in (True, False):
        projected, cache = [], KVCache()
        handle = layer.key.register_forward_hook(lambda _, inputs, __, seen=projected: seen.append(inputs[0].shape[1]))
        for start, end in zip([0, *stops], stops[:step], strict=False):
            if kept:
                layer(x[:, start:end], mask=causal(end - start, end), cache=cache)
            else:
                layer(x[:, :end], mask=causal(end))
        handle.remove()
        rows[kept] = projected
    mine = rows[widget.cache == "with"]
    end, L = stops[step - 1], mine[-1]
    cells, framed = torch.full((8, 8), 2), torch.zeros(8, 8, dtype=torch.bool)
    begins = [0, *stops[:step]] if widget.cache == "with" else [0, end]
    for start, stop in pairwise(begins):
        ask, keys = torch.zeros(1, stop - start, 1), torch.zeros(1, stop, 1)
        corner = {"attn_mask": causal_lower_right(stop - start, stop)._materialize("cpu")}
        options = corner if widget.align == "last" else {"is_causal": True}
        sees = F.scaled_dot_product_attention(ask, keys, torch.eye(stop)[None], **options)[0] > 0
        cells[start:stop, :stop] = torch.where(sees, 0 if stop == end else 1, 2)
        framed[start:stop, :stop] = sees != torch.ones(8, 8).tril()[start:stop, :stop].bool()
    heads = {"MHA": 32, "GQA": 8, "MQA": 1}[widget.heads]
    keys = torch.empty(32, heads, widget.tokens, 128, dtype=torch.bfloat16, device="meta")
    return {
        "cells": cells,
        "colours": cells,
        "framed": framed,
        "later": torch.arange(8) >= end,
        "now": torch.tensor([L, sees.sum()]),
        "sum": torch.tensor([sum(mine), sum(rows[widget.cache != "with"])]),
        "other": torch.tensor(widget.cache != "with"),
        "wrong": framed.sum(),
        "weighs": torch.tensor(2 * keys.nbytes),
        "at": torch.tensor([step, len(stops)]),
        "tokens": torch.tensor(widget.tokens),
    }


def head_split(widget) -> dict[str, Tensor]:
    H, step = widget.heads, widget.step
    x = torch.arange(36).view(2, 3, 6)
    split = rearrange(x, "B L (H K) -> B L H K", H=H)
    now = {0: x, 5: x, 1: split, 4: split}.get(step, rearrange(split, "B L H K -> B H L K"))
    if widget.way == "view" and 0 < step < 5:
        now = x.view(2, H, 3, 6 // H)
    blocks = now if now.ndim == 4 else now[:, None]
    Y, Z = blocks.shape[2:]
    b, block, row, column = torch.meshgrid(*map(torch.arange, blocks.shape), indexing="ij")
    left, top = block * (30 * Z + 12) + 30 * column, b * (30 * Y + 24) + 30 * row
    order = blocks.flatten().argsort()
    words_in_rows, by_word = now.ndim == 3, widget.way == "transpose" and step in (1, 4)
    numbered = lambda name, n: [f"{name} {i + 1}" for i in range(n)]  # noqa: E731
    columns = list("012345") if words_in_rows else list("abc") if by_word else numbered("head", H)
    rows = list("abc") if words_in_rows else numbered("head", H) if by_word else numbered("row", 3)
    return {
        "step": torch.tensor(step),
        "places": torch.stack([left.flatten()[order], top.flatten()[order]], -1),
        "heads": torch.tensor([ord(letter) for head in columns + rows for letter in head]),
        "words": rearrange(blocks[0], "X Y Z -> Y X Z"),
        "shape": torch.tensor(now.shape),
    }


def head_ablation(widget) -> dict[str, Tensor]:
    model, H = copy.deepcopy(finders()[widget.heads]).double(), widget.heads
    letters, marks, answers = widget.texts()
    part = lambda x: rearrange(x, "... M (H K) -> ... H M K", H=H)  # noqa: E731
    q = part(model.attention.query(model.query.expand(len(letters), 1, -1)))
    k, v = part(model.attention.key(model.marks(marks))), part(model.attention.value(model.letters(letters)))
    on = torch.tensor([h not in widget.off for h in range(H)])
    blended = F.scaled_dot_product_attention(q, k, v) * on[:, None, None]
    scores = model.answers(model.attention.output(rearrange(blended, "B H 1 K -> B (H K)"))).unflatten(-1, (2, 8))
    weights = (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1)[0, :, 0]
    chances, said = scores.softmax(-1)[0].max(-1)
    right = (scores.argmax(-1) == answers)[1:].double().mean(0)
    loss = F.cross_entropy(scores[1:].flatten(0, 1), answers[1:].flatten())
    names = "".join("abcdefgh"[x] + ["", "★", "●"][m] for x, m in zip(letters[0], marks[0], strict=True))
    codes = lambda text: torch.tensor([ord(letter) for letter in text])  # noqa: E731
    return {
        "text": codes(names),
        "weights": weights,
        "colours": weights,
        "off": ~on,
        "on": on,
        "letters": codes("".join("abcdefgh"[x] for pair in zip(said, answers[0], strict=True) for x in pair)),
        "chances": chances,
        "wrong": said != answers[0],
        "figures": torch.stack([100 * right[0], 100 * right[1], loss]),
    }


def head_budget(widget) -> dict[str, Tensor]:
    D, L = widget.width, widget.length

    def figures(H):
        cost = SelfAttention(H).cost(L, D)
        layer = MultiHeadAttention(D, H)
        parameters = sum(x.numel() for x in layer.parameters())
        each = layer.query.out_features // H
        return [each, parameters, cost.operations // 2, H, cost.memory - 5 * L * D, min(each, L)]

    now, single = torch.tensor(figures(widget.heads)), torch.tensor(figures(1))
    return {
        "numbers": torch.stack([now, single], -1),
        "pieces": torch.tensor(widget.heads),
        "strip": torch.tensor([widget.heads, D // widget.heads]),
        "same": now == single,
    }


def bank_in_context(widget) -> dict[str, Tensor]:
    codes = lambda words: torch.tensor([ord(letter) for word in words for letter in word])  # noqa: E731
    tokens, asks = widget.tokens, min(widget.place, len(widget.tokens) - 1)
    found = {
        "line": codes(tokens),
        "asks": torch.arange(len(tokens)) == asks,
        "extra": codes([widget.extra]),
    }
    if not widget.asked:
        return found | dict.fromkeys(["numbers", "bars", "rows", "words", "cosines"], torch.tensor([]))
    x = doubles()[[english_vectors().index[word] for word in tokens]]
    q, k, v, scale = x, x, x, 1.0
    if widget.matrices == "learned":
        layer = copy.deepcopy(three_matrices()).double()
        q, k, v, scale = layer.query(x), layer.key(x), layer.value(x), 16**-0.5
    became = F.scaled_dot_product_attention(q[None], k[None], v[None], scale=scale)[0, asks]
    scores = k @ q[asks] * scale
    near = [F.cosine_similarity(to, doubles(), dim=-1).topk(5) for to in (x[asks], became)]
    return found | {
        "numbers": torch.stack([scores, scores.softmax(-1)], -1),
        "bars": scores.softmax(-1),
        "rows": codes(tokens),
        "words": codes(english_vectors().words[row] for best in near for row in best.indices),
        "cosines": torch.cat([best.values for best in near]),
    }


def cost_plane(widget) -> dict[str, Tensor]:
    """By the formulas that are tested by counting; what is pairs of them, by what more than doubles with n."""
    n, d, h, k = widget.n, widget.d, widget.heads, widget.kernel
    other = Recurrence() if widget.against == "recurrence" else Convolution(k)
    kinds = (SelfAttention(h), Recurrence(), Convolution(k))
    operations = [kind.cost(n, d).operations for kind in kinds]
    pairs = (SelfAttention().cost(2 * n, d).operations - 2 * SelfAttention().cost(n, d).operations) // 2
    if widget.projections == "out":
        operations[0] = pairs
    compared = operations[0] / other.cost(n, d).operations
    weights = 4 * (kinds[0].memory(n, d) - SelfAttention(0).memory(n, d))
    slope = (other.cost(1, 1).operations - 8 * (widget.projections == "in")) / 4
    line = lambda ratio: [[(p + math.log2(ratio) - 4) * 24, (14 - p) * 24] for p in (4, 14)]  # noqa: E731
    shaded = [2 ** (p - 0.01) > slope * 2**9 for p in range(5, 20, 2)]
    lines = [2.0] * (widget.projections == "in") + [slope] * (slope > 0)
    dot = [(math.log2(n) - 4) * 24, (14 - math.log2(d)) * 24]
    return {
        "costs": torch.tensor([[x, kind.memory(n, d)] for x, kind in zip(operations, kinds, strict=True)]),
        "figures": torch.tensor([100 * pairs / operations[0], compared, weights], dtype=torch.float64),
        "border": torch.tensor(line(slope) if slope > 0 else [], dtype=torch.float64),
        "half": torch.tensor(line(2), dtype=torch.float64),
        "shaded": torch.tensor(shaded),
        "dots": torch.tensor([dot, dot], dtype=torch.float64),
        "lines": torch.tensor(lines),
        "never": torch.tensor(slope <= 0),
        "kernel": torch.tensor(k),
        "chosen": torch.tensor([True, widget.against == "recurrence", widget.against == "convolution"]),
    }


def signal_race(widget) -> dict[str, Tensor]:
    """Who knows is asked of layers with real numbers; what they cost, of the formulas that are tested by counting."""
    n, knows, said, layers, now, total, times = widget.n, [], [], [], [], [], []
    for name, kind in widget.kinds().items():
        waits = kind.operations_per_step(n, 64) * kind.layers(n)
        done, per_layer = min(widget.step, len(waits)), len(kind.operations_per_step(n, 64))
        know = who_knows(kind, n, done if name == "recurrence" else done // per_layer)
        knows.append(know)
        said += [know.sum(), n]
        if done and not know.all() and name != "self-attention":
            layers += [-(-done // per_layer), kind.layers(n)]
        now += [done, sum(waits[:done])]
        times.append(kind.time(n, 64, widget.at_once))
        total += [len(waits), sum(waits), times[-1]]
    times = torch.tensor(times, dtype=torch.float64)
    return {
        "knows": torch.cat(knows),
        "said": torch.tensor(said),
        "layers": torch.tensor(layers),
        "now": torch.tensor(now),
        "total": torch.tensor(total),
        "bars": times / times.max(),
        "first": times == times.min(),
    }


@cache
def who_knows(kind: Kind, n: int, rounds: int) -> Tensor:
    """Which tokens' vectors change with the first one's after so many layers, or steps of the recurrence."""
    torch.manual_seed(0)
    x = torch.randn(2, n, 4, dtype=torch.float64)
    x[1, 1:] = x[0, 1:]
    with torch.no_grad():
        if isinstance(kind, Recurrence):
            layer = kind.layer(4).double()
            nn.init.eye_(layer.weight_hh_l0)  # or what was said fades until nothing is left of it
            y = F.pad(kind.run(layer, x)[:, :rounds], (0, 0, 0, n - rounds))
        else:
            y = x
            for number in range(rounds):
                y = kind.run(kind.layer(4, number).double(), y)
    return (y[0] != y[1]).any(-1) | (torch.arange(n) == 0)


def clock_hands(widget) -> dict[str, Tensor]:
    P = sinusoidal(60, widget.width, base=widget.base, dtype=torch.float64)
    both = P[[widget.other, widget.position]].unflatten(-1, (-1, 2))  # sine goes right, cosine up
    alike = F.cosine_similarity(P[widget.position], P)
    curve = torch.stack([torch.arange(60) * 590 / 59, 60 * (1 - alike)], -1)
    period = 2 * math.pi * widget.base ** (1 - 2 / widget.width)
    return {
        "hands": (both * torch.tensor([20, -20])).transpose(0, 1),
        "said": torch.tensor([widget.width // 2, widget.position, widget.other]),
        "curve": curve,
        "marks": curve[[widget.position, widget.other]],
        "figures": torch.tensor(
            [alike[widget.other], abs(widget.position - widget.other), round(period) if period >= 1000 else period],
            dtype=torch.float64,
        ),
    }


def shift_lab(widget) -> dict[str, Tensor]:
    """The matrix is found, not written down: the one that takes every position to the one so many later."""
    i, apart = widget.position, widget.apart
    if widget.mode == "moved":
        P = sinusoidal(80, 4, base=100.0, dtype=torch.float64)
        matrix = torch.linalg.lstsq(P[10:70], P[10 + apart : 70 + apart]).solution.T
        shown = torch.stack([P[i], P[i + apart]])
        columns = [*matrix.T, P[i], matrix @ P[i], P[i + apart]]
        heads, scores, moves = [1, 1, 2, 2, i, i + apart], [], [apart, i]
    else:
        q, k = torch.tensor([QUERY, KEY], dtype=torch.float64)
        angles = torch.tensor([[i], [i + apart]]) * torch.tensor([1, 0.1], dtype=torch.float64)
        pairs = torch.view_as_complex(torch.stack([q, k]).unflatten(-1, (2, 2))) * torch.exp(1j * angles)
        shown = torch.view_as_real(pairs).flatten(-2)
        columns, heads, moves = [q, shown[0], k, shown[1]], [i, i + apart], []
        added = (q + sinusoidal(1, 4, start=i, base=100.0, dtype=torch.float64)[0]) @ (
            k + sinusoidal(1, 4, start=i + apart, base=100.0, dtype=torch.float64)[0]
        )
        scores = [(shown[0] @ shown[1]).item(), added.item()]
    return {
        "numbers": torch.stack(columns, -1),
        "heads": torch.tensor(heads),
        "hands": (shown.unflatten(-1, (2, 2)) * torch.tensor([34, -34])).transpose(0, 1),
        "scores": torch.tensor(scores, dtype=torch.float64),
        "moves": torch.tensor(moves),
    }


def find_the_bug(widget) -> dict[str, Tensor]:
    first, second = ["dog", "bites", "man"], ["cat", "hears", "rain"]
    texts = [first[::-1] if widget.words_swapped else first, second]
    texts = texts[::-1] if widget.texts_swapped else texts
    kinds, given = widget.order(), [widget.a, widget.b, widget.c]
    vectors = dict(zip(first + second, normals(100 + widget.seed, 24).view(6, 4), strict=True))

    def outputs(texts, kind):
        """Of every word, whether it was there before or not, its vector after attention."""
        x = torch.stack([torch.stack([vectors[word] for word in text]) for text in texts])
        table = sinusoidal(3, 4, dtype=torch.float64)
        x = x + {"right": table, "batch": table[:2, None], "none": 0}[kind]
        y = F.scaled_dot_product_attention(x, x, x).flatten(0, 1)
        return dict(zip((word for text in texts for word in text), y, strict=True))

    now, before = ([outputs(of, kind) for kind in kinds] for of in (texts, [first, second]))
    line = [word for text in texts for word in text]
    pairs = zip(now, before, strict=True)
    moved = torch.tensor([[(a[word] - b[word]).abs().max() > 1e-6 for word in line] for a, b in pairs])
    right = [a == b for a, b in zip(given, kinds, strict=True)]
    return {
        "words": torch.tensor([ord(letter) for word in line * 3 for letter in word]),
        "outputs": torch.stack([found[word][0] for found in now for word in line]),
        "moved": moved,
        "count": moved.sum(-1),
        "pressed": torch.tensor([widget.words_swapped, widget.texts_swapped]),
        "right": torch.tensor([sum(right)] if widget.revealed else []),
        "was": torch.tensor([widget.revealed and not r for r in right]),
    }


@cache
def doubles() -> Tensor:
    with np.load(FOLDER / "vectors.npz") as stored:
        return torch.from_numpy(stored["vectors"]).double() * stored["scale"].item()


ORACLE = {
    "attention_heatmap": attention_heatmap,
    "scale_lab": scale_lab,
    "word_map": word_map,
    "analogy_bench": analogy_bench,
    "length_slider": length_slider,
    "paint_mask": paint_mask,
    "fill_value": fill_value,
    "polarity": polarity,
    "cue_scene": cue_scene,
    "soft_dictionary": soft_dictionary,
    "kernel_regression": kernel_regression,
    "tanh_sum": tanh_sum,
    "alignment_player": alignment_player,
    "live_transformer": live_transformer,
    "block_stepper": block_stepper,
    "mask_map": mask_map,
    "online_softmax": online_softmax,
    "cache_stepper": cache_stepper,
    "head_split": head_split,
    "head_ablation": head_ablation,
    "head_budget": head_budget,
    "bank_in_context": bank_in_context,
    "cost_plane": cost_plane,
    "signal_race": signal_race,
    "clock_hands": clock_hands,
    "shift_lab": shift_lab,
    "find_the_bug": find_the_bug,
}


def shown(node: Locator) -> dict[str, list]:
    """Every number that a widget shows, as text, after the frame that follows the last input and what it fetched."""
    expect(node.locator("[aria-busy]")).to_have_count(0)
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


POWERS = {"": 0, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15}
POWERS |= {"kB": 3, "MB": 6, "GB": 9, "TB": 12, "PB": 15}


def agrees(text: str, x: float) -> bool:
    """
    >>> agrees("−0.33", -1 / 3), agrees("0.34", 1 / 3), agrees("1", 0.9)
    (True, False, False)
    >>> agrees("−∞", -torch.inf), agrees("∞", torch.inf), agrees("∞", -torch.inf)
    (True, True, False)
    >>> agrees("2.2 TB", 2.199e12), agrees("2.2 GB", 2.199e12), agrees("16.4 thousand", 16384)
    (True, False, True)
    >>> agrees("NaN", torch.nan), agrees("NaN", 0.0), agrees("0.00", torch.nan)
    (True, False, False)
    """
    text, _, unit = text.partition(" ")
    if text in ("−∞", "∞", "NaN"):
        return x != x if text == "NaN" else x == float(text.replace("−", "-").replace("∞", "inf"))
    number = re.fullmatch(r"-?\d+(?:\.(\d+))?(?:e(-?\d+))?", text.replace("−", "-"))
    if not number:
        return False
    decimals = min(len(number[1]), 9) if number[1] else 9  # a number without decimals must be whole
    power = int(number[2] or 0) + POWERS[unit]
    return abs(float(number[0]) * 10.0 ** POWERS[unit] - x) <= 0.5001 * 10.0 ** (power - decimals)
