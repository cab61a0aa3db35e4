"""The book's colours, as data: widgets and pages, figures and formulas all read them here.

What is read lies on paper, light or dark. What is touched stands on a stage, dark in both, where weights glow.

Query, key and value stay apart in the common kinds of colour blindness. What is neither of them and is compared has one
of four: one, the other, ink, the accent. Weights run along one perceptually even scale, fixed to 0-1. Weight w has the
colour oklch(L + w·dL, C + w·dC, hue), and text on it turns from black to white (or back) at the flip.
"""

from textwrap import indent

LIGHT: dict[str, str | float] = {
    "attn-query": "#0060c0",
    "attn-key": "#b00058",
    "attn-value": "#6f6a00",
    "ab-ink": "#1c1b22",
    "ab-soft": "#5b5966",
    "ab-line": "#8b8898",
    "ab-rule": "#e0dce6",
    "ab-paper": "#fffdfa",
    "ab-panel": "#f6f3f6",
    "ab-accent": "#5b3fc4",
    "ab-on-accent": "#ffffff",
    "ab-one": "#00757c",
    "ab-other": "#ad4a00",
    "weight-L": 0.985,
    "weight-dL": -0.63,
    "weight-C": 0.004,
    "weight-dC": 0.172,
    "weight-hue": 288,
    "weight-flip": 0.655,
    "weight-turn": 1,
    "score-L": 0.985,
    "score-dL": -0.13,
}
DARK: dict[str, str | float] = LIGHT | {
    "attn-query": "#78b4ff",
    "attn-key": "#ff8fb8",
    "attn-value": "#d4c84a",
    "ab-ink": "#ece9f4",
    "ab-soft": "#b3afc2",
    "ab-line": "#7f7a92",
    "ab-rule": "#353142",
    "ab-paper": "#121018",
    "ab-panel": "#1c1925",
    "ab-accent": "#b9a5ff",
    "ab-on-accent": "#15131c",
    "ab-one": "#48d0c8",
    "ab-other": "#ff9457",
    "weight-L": 0.21,
    "weight-dL": 0.67,
    "weight-C": 0.02,
    "weight-dC": 0.052,
    "weight-flip": 0.53,
    "weight-turn": -1,
    "score-L": 0.21,
    "score-dL": 0.14,
}
STAGE: dict[str, str | float] = DARK | {
    "ab-line": "#837d98",
    "ab-rule": "#3a3550",
    "ab-paper": "#15131c",
    "ab-panel": "#2a2440",  # where the stage is lit from above
    "ab-accent": "#ffd66b",
    "ab-on-accent": "#1c1b22",
    "weight-L": 0.24,
    "weight-dL": 0.63,
    "weight-C": 0.03,
    "weight-dC": 0.105,
    "weight-hue": 85,
    "weight-flip": 0.52,
    "score-L": 0.24,
}


def css() -> str:
    """The custom properties of all palettes: the head of the style that every widget and every page shares."""
    dark_pages = ('html[data-theme="dark"]', 'html[theme="dark"]', 'body[data-jp-theme-light="false"]')
    dark = {name: value for name, value in DARK.items() if value != LIGHT[name]}
    stage = indent(_rule(".ab-stage", STAGE), "  ")
    return _rule(":root", LIGHT) + _rule(",\n".join(dark_pages), dark) + f"@media screen {{\n{stage}}}\n"


def _rule(selectors: str, palette: dict[str, str | float]) -> str:
    """A rule of CSS.

    >>> print(_rule(":root", {"weight-L": 0.985}))
    :root {
      --weight-L: 0.985;
    }
    <BLANKLINE>
    """
    return "\n".join([f"{selectors} {{", *(f"  --{name}: {value};" for name, value in palette.items()), "}", ""])
