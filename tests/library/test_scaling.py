"""Stretched rotary positions against plain Python, and what each keeps of the positions it stretches."""

import math

import pytest
import torch
from torch.testing import assert_close

from attnbook import MultiHeadAttention, NTKAware, PositionInterpolation, Rotary, YaRN, causal
from attnbook.layers.scaling import rotary_frequencies

K, BASE, FACTOR, TRAINED = 16, 500.0, 4.0, 64
exactly = {"rtol": 0, "atol": 1e-12}
SCALINGS = [PositionInterpolation(FACTOR), NTKAware(FACTOR), YaRN(FACTOR, TRAINED)]
each_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=lambda scaling: type(scaling).__name__)


def plain(width=K, base=BASE):
    return [base ** (-2 * j / width) for j in range(width // 2)]


def by_hand(scaling, width, base):
    """The authors' formulas, in plain Python."""
    s = scaling.factor
    if type(scaling) is PositionInterpolation:
        return [f / s for f in plain(width, base)]
    if type(scaling) is NTKAware:
        return plain(width, base * s ** (width / (width - 2)))

    def dimension(rotations):
        return width * math.log(scaling.trained / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(dimension(scaling.fast)), 0)
    high = min(math.ceil(dimension(scaling.slow)), width - 1)
    if low == high:
        high += 0.001
    found = []
    for j, f in enumerate(plain(width, base)):
        kept = 1 - min(1, max(0, (j - low) / (high - low)))
        found.append(f / s * (1 - kept) + f * kept)
    return found


@pytest.mark.parametrize(("width", "base"), [(K, BASE), (64, 10000.0), (128, 1e6), (4, 50.0)])
@pytest.mark.parametrize(
    "scaling",
    [
        *(*SCALINGS, NTKAware(1), YaRN(1, TRAINED), YaRN(2, 7), YaRN(16, 8192)),
        *(YaRN(40.0, 4096, fast=16, slow=2), YaRN(4, 8192, fast=4000, slow=0.1)),
    ],
    ids=repr,
)
def test_frequencies_are_the_authors(scaling, width, base):
    want = torch.tensor(by_hand(scaling, width, base), dtype=torch.float64)
    assert_close(scaling.frequencies(width, base), want, **exactly)


def test_what_is_not_said_is_as_in_the_papers():
    assert_close(rotary_frequencies(4), torch.tensor([1, 0.01], dtype=torch.float64), **exactly)
    assert (YaRN(FACTOR, TRAINED).fast, YaRN(FACTOR, TRAINED).slow) == (32, 1)


@each_scaling
def test_the_slowest_pair_turns_as_far_in_the_longest_text_as_it_did_in_training(scaling):
    assert_close(scaling.frequencies(K, BASE)[-1].item() * FACTOR, plain()[-1])


def test_the_fastest_pair_stays_where_neighbours_are_to_stay_apart():
    first = [scaling.frequencies(K, BASE)[0].item() for scaling in (NTKAware(FACTOR), YaRN(FACTOR, 4096))]
    assert first == [1.0, 1.0]
    assert PositionInterpolation(FACTOR).frequencies(K, BASE)[0] == 1 / FACTOR


def test_a_pair_of_one_is_the_fastest():
    assert NTKAware(FACTOR).frequencies(2).tolist() == [1.0]


@each_scaling
def test_rotary_turns_by_them(scaling):
    x = torch.randn(3, 9, K, dtype=torch.float64)
    got = Rotary(K, base=BASE, scaling=scaling)(x, start=5)
    places = torch.arange(5, 14, dtype=torch.float64)[:, None]
    angles = places * torch.tensor(by_hand(scaling, K, BASE), dtype=torch.float64)
    pairs = torch.complex(x[..., : K // 2], x[..., K // 2 :]) * torch.polar(torch.ones_like(angles), angles)
    loud = 0.1 * math.log(FACTOR) + 1 if isinstance(scaling, YaRN) else 1
    assert_close(got, loud * torch.cat([pairs.real, pairs.imag], -1), **exactly)


def test_interpolated_positions_are_the_ones_in_between():
    x = torch.randn(9, K, dtype=torch.float64)
    stretched = Rotary(K, scaling=PositionInterpolation(2))(x)
    assert_close(stretched[::2], Rotary(K)(x[::2]), **exactly)


def test_yarn_makes_scores_louder():
    rotary = Rotary(K, scaling=YaRN(FACTOR, TRAINED))
    q, k = torch.randn(2, 1, K, dtype=torch.float64)
    assert_close(rotary(q) @ rotary(k).mT, (q @ k.mT) * (0.1 * math.log(FACTOR) + 1) ** 2)
    assert YaRN(1, TRAINED).loudness == 1


@each_scaling
def test_nothing_is_stretched_by_1(scaling):
    x = torch.randn(9, K, dtype=torch.float64)
    options = {"trained": TRAINED} if isinstance(scaling, YaRN) else {}
    assert_close(Rotary(K, scaling=type(scaling)(1, **options))(x), Rotary(K)(x), **exactly)


@each_scaling
def test_a_layer_takes_them(scaling):
    torch.manual_seed(0)
    layer = MultiHeadAttention(2 * K, 2, rotary=Rotary(K, scaling=scaling)).double()
    x = torch.randn(1, 9, 2 * K, dtype=torch.float64)
    stretched = layer(x, mask=causal(9))
    layer.rotary = Rotary(K)
    assert not torch.allclose(stretched, layer(x, mask=causal(9)), atol=1e-3)


def test_rotary_says_how_it_is_scaled():
    assert repr(Rotary(K, scaling=NTKAware(2.0))).endswith("base=10000, scaling=NTKAware(factor=2.0))")


@pytest.mark.parametrize("factor", [0.5, math.inf, math.nan])
def test_texts_do_not_become_shorter(factor):
    with pytest.raises(ValueError, match="factor is how many times longer texts may be, at least 1; got"):
        YaRN(factor, TRAINED)
