"""Telephone numbers as sound: a key is two sines at once, and where each of them sounds is known.

>>> call = dial("4711", torch.Generator().manual_seed(0))
>>> [f"{span.start / RATE:.2f} to {span.stop / RATE:.2f} s" for span in call.spans]
['0.07 to 0.15 s', '0.21 to 0.27 s', '0.32 to 0.43 s', '0.48 to 0.54 s']
>>> spectrogram(call.wave).shape  # frames, and how much of each of 65 frequencies is in them
torch.Size([38, 65])
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.data import FOLDER, stored
from attnbook.layers.masks import causal
from attnbook.layers.positions import SinusoidalPositions
from attnbook.learning.text import START, STOP, Vocabulary
from attnbook.models.decoding import greedy
from attnbook.models.transformer import EncoderBlock, Parts, Transformer

RATE = 4000  # samples a second, for frequencies up to 2,000 Hz
WINDOW, HOP = 128, 64  # samples: 32 ms, and 16 ms from one frame to the next
STRIDE = 2  # frames from one place of a `Listener`'s memory to the next
KEYPAD = ("123", "456", "789", "*0#")
ROWS, COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477)  # Hz, by ITU-T Recommendation Q.23
FREQUENCIES = {
    key: (low, high) for low, keys in zip(ROWS, KEYPAD, strict=True) for high, key in zip(COLUMNS, keys, strict=True)
}
KEYS = Vocabulary(["".join(KEYPAD)])
SOUND, SILENCE = (0.05, 0.12), (0.04, 0.1)  # seconds, at least and at most
SNR = 6.0  # decibels: the noise has a quarter of a tone's power


class Call(NamedTuple):
    """A number, its sound, and the samples during which each of its keys was pressed."""

    number: str
    wave: Tensor
    spans: list[slice]


@cache
def tone(key: str) -> Tensor:
    """A second of sin(2π f₁ t) + sin(2π f₂ t), with the frequencies of a key's row and column.

    >>> tone("5").square().mean().round(decimals=1)  # its power: half for each sine
    tensor(1., dtype=torch.float64)
    """
    if key not in FREQUENCIES:
        raise KeyError(f"{key!r} is no key of a telephone; it has {' '.join(FREQUENCIES)}.")
    seconds = torch.arange(RATE, dtype=torch.float64) / RATE
    low, high = FREQUENCIES[key]
    return (2 * torch.pi * low * seconds).sin() + (2 * torch.pi * high * seconds).sin()


def dial(number: str, generator: torch.Generator, snr: float = SNR) -> Call:
    """A number as someone dials it: tones and silences of random lengths, and white noise throughout.

    snr   10 log₁₀(power of a tone / power of the noise), in decibels; infinity is no noise
    """
    silences = _samples(SILENCE, len(number) + 1, generator)
    sounds = _samples(SOUND, len(number), generator)
    wave = torch.randn(sum(silences) + sum(sounds), generator=generator) * 10 ** (-snr / 20)
    spans, at = [], 0
    for key, silence, sound in zip(number, silences, sounds, strict=False):
        span = slice(at + silence, at + silence + sound)
        wave[span] += tone(key)[:sound]
        spans.append(span)
        at = span.stop
    return Call(number, wave, spans)


def _samples(seconds: tuple[float, float], count: int, generator: torch.Generator) -> list[int]:
    least, most = (round(RATE * s) for s in seconds)
    return torch.randint(least, most + 1, (count,), generator=generator).tolist()


def numbers(count: int, generator: torch.Generator, shortest: int = 4, longest: int = 8) -> list[str]:
    """So many numbers of random keys, of lengths between these two.

    >>> numbers(3, torch.Generator().manual_seed(0))
    ['18488246', '31409113', '*3##396']
    """
    lengths = torch.randint(shortest, longest + 1, (count,), generator=generator).tolist()
    keys = list(FREQUENCIES)
    return [
        "".join(keys[k] for k in torch.randint(len(keys), (length,), generator=generator).tolist())
        for length in lengths
    ]


def spectrogram(wave: Tensor) -> Tensor:
    """log(1 + |Σₙ wₙ x₆₄ₘ₊ₙ e^(-2πi kn / 128)|) of sound (..., samples): frames m of 32 ms, frequencies of 31.25 k Hz.

    w is Hann's window, which fades each frame in and out. Where there is no sound at all a frame is 0.
    """
    window = torch.hann_window(WINDOW, dtype=wave.dtype, device=wave.device)
    return torch.stft(wave, WINDOW, HOP, window=window, center=False, return_complex=True).abs().log1p().mT


def frames_in(span: slice, stride: int = 1) -> slice:
    """The frames of a spectrogram, or every second one, whose middle lies within a span of samples.

    >>> frames_in(slice(200, 500))  # their middles are the samples 256, 320, 384 and 448
    slice(3, 7, None)
    """
    first, end = (max(0, -(-(place - WINDOW // 2) // (stride * HOP))) for place in (span.start, span.stop))
    return slice(first, end)


def heard(calls: Sequence[Call]) -> Tensor:
    """The spectrograms (B, M, 65) of several calls; shorter ones have frames of zeros behind them."""
    return nn.utils.rnn.pad_sequence([spectrogram(call.wave) for call in calls], batch_first=True)


def dialled(
    size: int, shortest: int = 4, longest: int = 8, snr: tuple[float, float] = (SNR, SNR)
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    """To be called in each step of training: numbers never heard before, as frames (size, M, 65) and ids (size, L).

    Each has noise of its own, between these decibels.

    >>> frames_BMF, ids_BL = dialled(2)(torch.Generator().manual_seed(0))
    >>> frames_BMF.shape, KEYS.decode(ids_BL)
    (torch.Size([2, 82, 65]), ['61848824', '63140911'])
    """

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        texts = numbers(size, generator, shortest, longest)
        noises = torch.empty(size).uniform_(*snr, generator=generator).tolist()
        calls = [dial(text, generator, noise) for text, noise in zip(texts, noises, strict=True)]
        return heard(calls), KEYS.encode([call.number for call in calls], start=True)

    return draw


class Listener(Transformer):
    """Hears frames (B, M, F) and writes keys: the scores (B, L, 15) for the token after each one of the target so far.

    Each position of its memory is one matrix times three frames, and sees only what was heard before it. The
    encoder has two blocks, since it has two things to find, where keys begin and how many have begun before; the
    decoder has one. Frames of zeros are padding.

    >>> Listener(D=8, heads=2, hidden=32)(torch.ones(1, 5, 65), torch.tensor([[1, 7]])).shape
    torch.Size([1, 2, 15])
    """

    def __init__(self, D: int = 40, heads: int = 4, hidden: int = 64, layers: int = 2):
        sizes = {"D": D, "heads": heads, "hidden": hidden, "dropout": 0.0, "norm": "pre"}
        super().__init__(len(KEYS), **sizes, layers=1)
        self.encoder = Parts(**sizes, layers=layers).stack(EncoderBlock)
        self.frames = nn.Conv1d(WINDOW // 2 + 1, D, kernel_size=3, stride=STRIDE, padding=1)
        self.positions = SinusoidalPositions(D)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The memory (B, M / 2, D), and the mask (B, 1, M / 2) of what is real in it."""
        x, mask = self.frames(source.mT).relu().mT, (source != 0).any(-1)[:, None, ::STRIDE]
        return self.encoder(self.positions(x), mask & causal(x.shape[1], device=x.device)), mask


def written(model: nn.Module, calls: Sequence[Call]) -> list[str]:
    """What a model writes of each call by itself, greedily, and of at most three keys more than the longest has."""
    longest = max(len(call.number) for call in calls)
    prompt = torch.full((len(calls), 1), START)
    return KEYS.decode(greedy(model, prompt, heard(calls), stop=STOP, length=longest + 5))


def exact(model: nn.Module, calls: Sequence[Call]) -> float:
    """The share of calls of which a model writes the number, all of it and nothing else."""
    pairs = zip(written(model, calls), calls, strict=True)
    return sum(text == call.number for text, call in pairs) / len(calls)


def share_on_spans(weights: Tensor, calls: Sequence[Call], shift: int = 0) -> float:
    """Of the weights (B, L, M) with which numbers were written: how much lay where the key that was being
    written sounds; or, with `shift`, the key so many later.
    """
    shares = [
        map_LM[place, frames_in(call.spans[place + shift], STRIDE)].sum()
        for map_LM, call in zip(weights, calls, strict=True)
        for place in range(max(0, -shift), len(call.number) - max(0, shift))
    ]
    return torch.stack(shares).mean().item()


@cache
def listener() -> Listener:
    """A `Listener` that has learned to write what it hears, a byte for each of its 51,072 parameters.

    >>> call = dial("07*21#", torch.Generator().manual_seed(1))
    >>> written(listener(), [call])
    ['07*21#']
    """
    model = Listener()
    stored.unpack_single(FOLDER / "listener.bin", model)
    return model
