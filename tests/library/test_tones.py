"""Telephone numbers as sound: what is in the wave is what was dialled, when it was dialled."""

import math
from itertools import pairwise

import pytest
import torch
from torch.testing import assert_close

from attnbook.learning.text import PAD, START, STOP
from attnbook.learning.translation import Translation
from attnbook.models.decoding import greedy
from attnbook.tasks.tones import (
    COLUMNS,
    FREQUENCIES,
    HOP,
    KEYS,
    RATE,
    ROWS,
    SILENCE,
    SOUND,
    STRIDE,
    WINDOW,
    Listener,
    dial,
    dialled,
    frames_in,
    heard,
    numbers,
    share_on_spans,
    spectrogram,
    tone,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def peaks(wave):
    """The two frequencies, in Hz, of which there is most."""
    spectrum = torch.fft.rfft(wave, n=RATE).abs()  # a line for each Hz
    low = spectrum[:1075].argmax().item()
    return low, 1075 + spectrum[1075:].argmax().item()


@pytest.mark.parametrize("key", FREQUENCIES)
def test_a_key_is_its_rows_and_its_columns_sine(key):
    assert peaks(tone(key)) == FREQUENCIES[key]
    assert FREQUENCIES[key] == (ROWS["123456789*0#".index(key) // 3], COLUMNS["123456789*0#".index(key) % 3])


def test_each_key_is_found_where_the_span_says_and_nothing_beside_it():
    call = dial("0123456789*#", seeded(), snr=math.inf)
    left = call.wave.clone()
    for key, span in zip(call.number, call.spans, strict=True):
        low, high = peaks(call.wave[span])
        assert abs(low - FREQUENCIES[key][0]) < 15, key  # a tone of 50 ms is known to about 10 Hz
        assert abs(high - FREQUENCIES[key][1]) < 15, key
        left[span] = 0
    assert not left.any()


def test_each_key_is_found_in_the_spectrogram():
    call = dial("0123456789*#", seeded(1))
    frames_MF, width = spectrogram(call.wave), RATE / WINDOW
    for key, span in zip(call.number, call.spans, strict=True):
        mean_F = frames_MF[frames_in(span)].mean(0)
        low, high = mean_F[:34].argmax() * width, (34 + mean_F[34:].argmax()) * width
        assert abs(low - FREQUENCIES[key][0]) <= width, key
        assert abs(high - FREQUENCIES[key][1]) <= width, key


def test_tones_and_silences_are_as_long_as_is_said():
    spans = [dial(number, seeded(n)).spans for n, number in enumerate(numbers(50, seeded()))]
    sounds = [span.stop - span.start for call in spans for span in call]
    silences = [b.start - a.stop for call in spans for a, b in pairwise(call)]
    for found, (least, most) in (sounds, SOUND), (silences, SILENCE):
        assert round(least * RATE) <= min(found) < max(found) <= round(most * RATE)
        assert max(found) - min(found) > 0.8 * RATE * (most - least), "lengths differ"


@pytest.mark.parametrize("snr", [-3.0, 6.0, 20.0])
def test_the_noise_is_as_strong_as_is_said(snr):
    noisy, clean = (dial("7" * 40, seeded(3), x).wave for x in (snr, math.inf))
    power = torch.cat([clean[span] for span in dial("7" * 40, seeded(3)).spans]).square().mean()
    found = 10 * torch.log10(power / (noisy - clean).square().mean())
    assert abs(found.item() - snr) < 0.2


def test_a_seed_is_a_call():
    first, again, other = (dial("4711", seeded(seed)) for seed in (5, 5, 6))
    assert torch.equal(first.wave, again.wave)
    assert first.spans == again.spans != other.spans


def test_no_key_of_a_telephone():
    with pytest.raises(KeyError, match="'A' is no key of a telephone; it has 1 2 3 4"):
        dial("1A", seeded())


def test_a_spectrogram_is_its_formula():
    wave = torch.randn(400, generator=seeded())
    n = torch.arange(WINDOW)
    window = torch.sin(torch.pi * n / WINDOW).square()
    turns = torch.exp(-2j * torch.pi * n[:, None] * torch.arange(WINDOW // 2 + 1) / WINDOW)
    rows = [(window * wave[m * HOP :][:WINDOW]).to(turns.dtype) @ turns for m in range((400 - WINDOW) // HOP + 1)]
    assert_close(spectrogram(wave), torch.stack(rows).abs().log1p(), atol=1e-4, rtol=0)


def test_frames_belong_to_the_span_that_holds_their_middle():
    for span in dial("31*#", seeded()).spans:
        for stride in (1, STRIDE):
            frames = frames_in(span, stride)
            inside = [m for m in range(200) if span.start <= m * stride * HOP + WINDOW // 2 < span.stop]
            assert [*range(frames.start, frames.stop)] == inside


def test_a_batch_has_padding_behind_what_is_shorter_and_the_model_does_not_read_it():
    calls = [dial(number, seeded(n)) for n, number in enumerate(["12", "123456"])]
    frames_BMF = heard(calls)
    real = (frames_BMF != 0).any(-1)
    assert real.sum(1).tolist() == [len(spectrogram(call.wave)) for call in calls]
    torch.manual_seed(0)
    model = Listener(D=8, heads=2, hidden=16)
    ids_BL = KEYS.encode(["12", "123456"], start=True)
    assert_close(model(frames_BMF, ids_BL)[0, :3], model(heard(calls[:1]), ids_BL[:1, :3])[0])


def test_what_a_step_learns_from():
    frames_BMF, ids_BL = dialled(8, 1, 5)(seeded())
    again = dialled(8, 1, 5)(seeded())
    assert torch.equal(frames_BMF, again[0])
    assert frames_BMF.shape[::2] == (8, WINDOW // 2 + 1)
    assert (ids_BL[:, 0] == START).all()
    assert {len(text) for text in KEYS.decode(ids_BL)} <= {1, 2, 3, 4, 5}


def test_the_share_of_weights_on_spans():
    calls = [dial("123", seeded(1)), dial("45", seeded(2))]
    M = heard(calls).shape[1] // STRIDE + 1
    weights = torch.zeros(2, 4, M)
    for b, call in enumerate(calls):
        for place, span in enumerate(call.spans):
            weights[b, place, frames_in(span, STRIDE).start] = 1
    assert share_on_spans(weights, calls) == 1
    assert share_on_spans(weights, calls, 1) == share_on_spans(weights, calls, -1) == 0


def test_a_listener_is_decoded_as_every_model_is():
    torch.manual_seed(0)
    model = Listener(D=8, heads=2, hidden=16)
    frames_BMF, ids_BL = dialled(3)(seeded())
    written = greedy(model, ids_BL[:, :1], frames_BMF, stop=STOP, length=5, pad=PAD)
    assert written.shape == (3, 5) or STOP in written
    assert Translation.loss(model, (frames_BMF, ids_BL)).isfinite()


@torch.no_grad()
def test_a_key_that_is_written_does_not_depend_on_those_after_it():
    torch.manual_seed(0)
    model = Listener(D=8, heads=2, hidden=16)
    frames_BMF, ids_BL = dialled(4, 6, 6)(seeded())
    other = ids_BL.clone()
    other[:, 4:] = ids_BL[:, 4:].roll(1, 0)  # the fourth key and later ones are another number's
    assert not torch.equal(other, ids_BL)
    now, then = model(frames_BMF, ids_BL), model(frames_BMF, other)
    assert_close(now[:, :4], then[:, :4])
    assert not torch.allclose(now[:, 4:], then[:, 4:])


@torch.no_grad()
def test_a_place_of_the_memory_depends_on_no_sound_after_its_three_frames():
    torch.manual_seed(0)
    model = Listener(D=8, heads=2, hidden=16)
    frames_BMF, _ = dialled(1)(seeded())
    louder = frames_BMF.clone()
    louder[:, 20:] += 1
    (now, _), (then, _) = model.encode(frames_BMF), model.encode(louder)
    assert_close(now[:, :10], then[:, :10])  # the last of these has frames 17, 18 and 19
    assert not torch.allclose(now[:, 10:], then[:, 10:])
