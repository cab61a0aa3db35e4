"""The widgets' colours: kept apart by everybody, text that can be read, an even scale."""

import re

import pytest
import torch

from attnbook.colours import DARK, LIGHT, STAGE
from attnbook.widgets.shared.files import ROOMS

each_theme = pytest.mark.parametrize("theme", [LIGHT, DARK, STAGE], ids=["light", "dark", "stage"])
# Machado, Oliveira & Fernandes (2009), severity 1, for linear sRGB
VISION = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Björn Ottosson's OKLab: linear sRGB to cone responses, their cube roots to L, a, b
CONES = torch.tensor(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = torch.tensor(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(hexadecimal):
    rgb = torch.tensor(list(bytes.fromhex(hexadecimal.removeprefix("#")))) / 255
    return torch.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    return LAB @ (CONES @ rgb.clamp(0, 1)).pow(1 / 3)


def luminance(rgb):
    return (rgb @ torch.tensor([0.2126, 0.7152, 0.0722])).item()


@each_theme
@pytest.mark.parametrize("vision", VISION)
def test_query_key_and_value_stay_apart(theme, vision):
    eye = torch.tensor(VISION[vision], dtype=torch.float32)
    seen = {role: oklab(eye @ linear(theme[f"attn-{role}"])) for role in ("query", "key", "value")}
    for a, b in (("query", "key"), ("key", "value"), ("value", "query")):
        apart = 100 * (seen[a] - seen[b]).norm().item()
        assert apart >= 8, f"{a} and {b} are {apart:.1f} apart for {vision} vision; 8 is easy to tell"


@each_theme
@pytest.mark.parametrize("vision", VISION)
def test_what_is_compared_besides_stays_apart(theme, vision):
    """One, the other, ink and the accent, in all kinds of vision; and for most people from query, key and value."""
    eye = torch.tensor(VISION[vision], dtype=torch.float32)
    roles = ["attn-query", "attn-key", "attn-value"] if vision == "normal" else []
    names = ["ab-one", "ab-other", "ab-ink", "ab-accent", *roles]
    seen = {name: oklab(eye @ linear(theme[name])) for name in names}
    close = {(a, b): 100 * (seen[a] - seen[b]).norm().item() for a in names[:2] for b in names if a != b}
    assert min(close.values()) >= 5, {pair: round(apart, 1) for pair, apart in close.items() if apart < 5}


# Widgets that have queries, keys or values to show in a colour of their own.
ROLES = {
    "attention_heatmap": "value",
    "bank_in_context": "query",
    "cache_stepper": "query key value",
    "clock_hands": "query key",
    "fill_value": "key",
    "head_ablation": "key",
    "head_browser": "query key",
    "induction_lab": "query",
    "kernel_regression": "query key value",
    "length_slider": "query",
    "mask_map": "query",
    "real_model": "query",
    "shared": "query key value",
    "shift_lab": "query key",
    "soft_dictionary": "query key value",
    "tanh_sum": "query",
    "text_generator": "query",
    "window_map": "query",
}


@pytest.mark.parametrize("name", sorted(path.name for path in ROOMS.iterdir() if path.is_dir()))
def test_what_is_no_query_key_or_value_wears_another_colour(name):
    """What is wrong, too much or compared is none of them."""
    worn, selector = set(), ""
    style = "".join(path.read_text("utf-8") for path in (ROOMS / name).glob("*.css"))
    for opens, role in re.findall(r"([^{};]+)\{|--attn-(\w+)", style):
        selector = opens.strip() or selector
        if role:
            worn.add((role, selector))
    assert {role for role, _ in worn} == set(ROLES.get(name, "").split())
    judged = re.compile(r"wrong|right|judged|over|full|other\b")
    assert not {at for _, at in worn if judged.search(at) and name != "clock_hands"}  # whose other hand is a key


@each_theme
@pytest.mark.parametrize("ground", ["ab-paper", "ab-panel"])
@pytest.mark.parametrize(
    "text", ["attn-query", "attn-key", "attn-value", "ab-ink", "ab-soft", "ab-accent", "ab-one", "ab-other"]
)
def test_coloured_text_can_be_read(theme, text, ground):
    low, high = sorted(luminance(linear(theme[name])) for name in (text, ground))
    assert (high + 0.05) / (low + 0.05) >= 4.5


@each_theme
def test_weights_run_along_an_even_scale(theme):
    """Equal steps of weight look equally large, after the screen has cut off what sRGB can't show."""
    L, dL, C, dC, hue = (theme[f"weight-{name}"] for name in ("L", "dL", "C", "dC", "hue"))
    hue = torch.tensor(hue).deg2rad()
    shown = []
    for w in torch.linspace(0, 1, 11):
        chroma = C + w * dC
        lab = torch.stack([L + w * dL, chroma * hue.cos(), chroma * hue.sin()])
        shown.append(oklab(CONES.inverse() @ (LAB.inverse() @ lab).pow(3)))
    steps = torch.stack(shown).diff(dim=0).norm(dim=1)
    assert steps.max() <= 1.05 * steps.min(), f"ΔE of the steps: {(100 * steps).round(decimals=1).tolist()}"
