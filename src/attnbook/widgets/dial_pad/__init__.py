"""A telephone whose tones a network hears and writes down: where it listens, and how much noise it stands."""

import copy
from typing import NamedTuple

import torch
import traitlets
from torch import Tensor

from attnbook.language import number, whole
from attnbook.layers.capture import capture_attention
from attnbook.learning.text import START, STOP
from attnbook.tasks.tones import (
    FREQUENCIES,
    HOP,
    KEYS,
    RATE,
    SILENCE,
    SOUND,
    STRIDE,
    WINDOW,
    listener,
    spectrogram,
    tone,
)
from attnbook.widgets.shared.base import BookWidget
from attnbook.widgets.shared.files import Asset
from attnbook.widgets.shared.random import normals, uniforms
from attnbook.widgets.shared.tables import Verbatim, html_table

LONGEST = 10  # keys that can be pressed
WRITTEN = 12  # keys, or the end, that the network writes at most
LEVELS = (20, 15, 12, 9, 6, 3, 0, -3, -6)  # decibels


class Writing(NamedTuple):
    """What was written: its keys, how sure the network was of each and of the end, and the weights (L, M)."""

    keys: str
    chances: Tensor
    weights: Tensor


class DialPad(BookWidget):
    """The committed `listener` hears `dialled`, with lengths and noise that belong to `seed`.

    snr   the signal-to-noise ratio, in decibels

    >>> pad = DialPad("4711")
    >>> pad.listen().keys
    '4711'
    """

    dialled = traitlets.Unicode("4711").tag(sync=True)
    snr = traitlets.Enum(LEVELS, 6).tag(sync=True)
    seed = traitlets.Int(1, min=1).tag(sync=True)
    model = Asset("listener.bin")

    def __init__(self, dialled: str = "4711", **traits):
        super().__init__(dialled=dialled, **traits)

    @traitlets.validate("dialled")
    def _of_a_telephone(self, proposal) -> str:
        keys = proposal["value"]
        if len(keys) > LONGEST or set(keys) - set(FREQUENCIES):
            raise traitlets.TraitError(f"up to {LONGEST} of the keys {' '.join(FREQUENCIES)}; got {keys!r}")
        return keys

    def dial(self) -> tuple[Tensor, list[slice]]:
        """The sound as the page makes it, in float64, and the samples of each key."""
        drawn, spans, at = iter(uniforms(self.seed, 2 * LONGEST + 1).tolist()), [], 0

        def lasting(seconds: tuple[float, float]) -> int:
            least, most = (round(RATE * s) for s in seconds)
            return least + int(next(drawn) * (most - least + 1))

        for _ in self.dialled:
            start = at + lasting(SILENCE)
            at = start + lasting(SOUND)
            spans.append(slice(start, at))
        wave = normals(self.seed + 1, at + lasting(SILENCE)) * 10 ** (-self.snr / 20)
        for key, span in zip(self.dialled, spans, strict=True):
            wave[span] += tone(key)[: span.stop - span.start]
        return wave, spans

    @torch.no_grad()
    def listen(self) -> Writing:
        """What the network writes of that."""
        model = copy.deepcopy(listener()).double()
        frames_BMF, ids = spectrogram(self.dial()[0])[None], [START]
        state = model.start(frames_BMF)
        while len(ids) <= WRITTEN and ids[-1] != STOP:
            scores = model.step(torch.tensor([ids[-1:]]), state)[0, -1]
            ids.append(STOP + int(scores[STOP:].argmax()))
        with capture_attention(model) as maps:
            chances = model(frames_BMF, torch.tensor([ids[:-1]]))[0].softmax(-1)
        weights = maps[f"decoder.{len(model.decoder) - 1}.cross_attention"][0].mean(0)
        (keys,) = KEYS.decode(torch.tensor([ids]))
        return Writing(keys, chances[torch.arange(len(ids) - 1), ids[1:]], weights)

    def table(self) -> str:
        say = self.edition_words()
        own, (keys, chances, weights) = say["table"], self.listen()
        rows = []
        for key, chance, row in zip([*map(Verbatim, keys), say["end"]], chances, weights, strict=False):
            share, place = row.max(-1)
            middle = own["seconds"].format(at=number(WINDOW / 2 / RATE + place * STRIDE * HOP / RATE))
            rows.append((key, [number(chance), middle, number(share)]))
        none = say["none"]
        caption = own["caption"].format(keys=self.dialled or none, snr=whole(self.snr), written=keys or none)
        return html_table(caption, [own["chance"], own["time"], own["weight"]], rows)
