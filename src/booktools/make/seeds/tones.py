"""What chapter 15 measures of its listener to telephone tones with several seeds; `seeds` says what.

listeners   for each seed, a `Listener` after its training: of 1,000 numbers of 4 to 8 keys that it has not heard, the
            share written exactly at several noises (`snr`; `inf` is none), and at 6 decibels of those with
            two equal keys in a row (`twins`) and without (`singles`), and of 9, 10 and 12 keys (`longer`); the share of
            cross-attention on the key that is being written, the one before it and the one after it (`own`, `before`,
            `after`), on the first of these before training (`untrained`), and if all places had the same weight
            (`chance`); and of 1,000 numbers of 1 to 3 keys the share written exactly after 400 steps on such numbers,
            each at a noise of its own and all at 6 decibels (`many_noises`, `one_noise`)
without     the same numbers at the same noises, read without learning: in each frame the loudest row and the loudest
            column, where both are loud, and a key where they stay so for 32 ms
"""

from math import inf
from statistics import mean

import torch
from torch import Tensor

from attnbook.device import seed_everything
from attnbook.layers.capture import capture_attention
from attnbook.learning.training import fit
from attnbook.learning.translation import Translation
from attnbook.tasks.tones import (
    COLUMNS,
    KEYPAD,
    KEYS,
    RATE,
    ROWS,
    SNR,
    STRIDE,
    WINDOW,
    Call,
    Listener,
    dial,
    dialled,
    exact,
    frames_in,
    heard,
    numbers,
    share_on_spans,
)

TAUGHT = (3.0, 24.0)  # decibels
SHORT, STEPS, TESTED, LEVELS = 400, 5000, 1000, (inf, 20, 12, 9, 6, 3, 0, -3)


def trained(seed: int, steps: int = STEPS, snr: tuple[float, float] = TAUGHT) -> Listener:
    """After `SHORT` steps on numbers of 1 to 3 keys, which let training begin, and `steps` on those of 1 to 8."""
    seed_everything(seed)
    model = Listener()
    for longest, count in (3, SHORT), (8, steps):
        if count:
            fit(model, Translation.loss, dialled(32, 1, longest, snr), count, lr=5e-3, seed=seed)
    return model


def _unheard(shortest: int = 4, longest: int = 8, snr: float = SNR, count: int = TESTED) -> list[Call]:
    generator = torch.Generator().manual_seed(12345)
    return [dial(number, generator, snr) for number in numbers(count, generator, shortest, longest)]


def _has_twins(call: Call) -> bool:
    return any(a == b for a, b in zip(call.number, call.number[1:], strict=False))


@torch.no_grad()
def cross_attention(model: Listener, calls: list[Call]) -> Tensor:
    """The weights (B, L, M) of the one block's cross-attention, its heads averaged, as the right keys are written."""
    with capture_attention(model) as maps:
        model(heard(calls), KEYS.encode([call.number for call in calls], start=True)[:, :-1])
    return maps["decoder.0.cross_attention"].mean(1)


def listeners(seed: int) -> dict[str, object]:
    model, calls, short = trained(seed), _unheard(), _unheard(1, 3)
    torch.manual_seed(seed)
    weights, untrained = cross_attention(model, calls), cross_attention(Listener(), calls)
    places = [len(range(*frames_in(span, STRIDE).indices(10**6))) for call in calls for span in call.spans]
    return {
        "seed": seed,
        "snr": {f"{level}": round(exact(model, _unheard(snr=level)), 3) for level in LEVELS},
        "twins": round(exact(model, [call for call in calls if _has_twins(call)]), 3),
        "singles": round(exact(model, [call for call in calls if not _has_twins(call)]), 3),
        "longer": {f"{n}": round(exact(model, _unheard(n, n)), 2) for n in (9, 10, 12)},
        "own": round(share_on_spans(weights, calls), 2),
        "before": round(share_on_spans(weights, calls, -1), 2),
        "after": round(share_on_spans(weights, calls, 1), 2),
        "untrained": round(share_on_spans(untrained, calls), 2),
        "chance": round(mean(places) / mean(_real_places(call) for call in calls), 3),
        "many_noises": round(exact(trained(seed, 0), short), 2),
        "one_noise": round(exact(trained(seed, 0, snr=(SNR, SNR)), short), 2),
    }


def _real_places(call: Call) -> int:
    return -(-heard([call]).shape[1] // STRIDE)


def _by_ear(wave: Tensor, loud: float = 12.0, shortest: int = 8, hop: int = 16) -> str:
    """The keys of a wave without learning, by how strong seven frequencies are (Goertzel)."""
    turns = 2j * torch.pi * torch.arange(WINDOW)[:, None] * torch.tensor(ROWS + COLUMNS) / RATE
    asked = torch.exp(-turns) * torch.hann_window(WINDOW)[:, None]
    rows, columns = (wave.unfold(0, WINDOW, hop).to(asked.dtype) @ asked).abs().split((len(ROWS), len(COLUMNS)), 1)
    sounding = (torch.minimum(rows.amax(1), columns.amax(1)) > loud).tolist()
    found, start = "", 0
    for end in range(1, len(sounding) + 1):
        if end < len(sounding) and sounding[end] == sounding[start]:
            continue
        if sounding[start] and end - start >= shortest:
            found += KEYPAD[rows[start:end].sum(0).argmax()][columns[start:end].sum(0).argmax()]
        start = end
    return found


def without() -> dict[str, float]:
    def share(calls: list[Call]) -> float:
        return round(mean(_by_ear(call.wave) == call.number for call in calls), 2)

    return {f"{level}": share(_unheard(snr=level)) for level in LEVELS} | {"12 keys": share(_unheard(12, 12))}
