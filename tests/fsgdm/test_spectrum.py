from __future__ import annotations

import numpy as np
import pytest
import torch

from reprise.fsgdm import spectrum
from reprise.fsgdm.filters import filter_sequence, magnitude


def test_spectrum_of_filtered_noise_is_the_squared_gain() -> None:
    noise = np.random.default_rng(0).normal(size=(20_000, 8))
    n = len(noise)
    filtered = filter_sequence(noise, np.full(n, 0.7), np.ones(n))
    omega, power = spectrum.power_spectrum(filtered, segment=64)
    # Density of white noise, one-sided, per cycle: 2; about 2500 averages: 2% standard error.
    expected = 2 * magnitude(0.7, 1, omega) ** 2
    np.testing.assert_allclose(power[3:-1], expected[3:-1], rtol=0.15)


def test_power_integrates_to_the_mean_square() -> None:
    x = np.random.default_rng(1).normal(size=(40_000, 2))
    omega, power = spectrum.power_spectrum(x, segment=128)
    assert np.trapezoid(power, omega / (2 * np.pi)) == pytest.approx(np.mean(x**2), rel=0.03)


def test_what_does_not_change_is_power_at_zero() -> None:
    omega, power = spectrum.power_spectrum(np.ones((200, 2)), segment=64)
    assert spectrum.share_above(omega, power, 0.3) < 1e-3
    # Hann's main lobe is two bins wide: mean square 1, half of the trapezoid at omega = 0 cut off.
    assert power[0] > power[1] > 100 * power[3]


def test_share_above_of_a_flat_spectrum_is_the_share_of_the_axis() -> None:
    omega = np.linspace(0, np.pi, 33)
    for threshold in (0.0, 0.1, 1.0, 3.0):
        share = spectrum.share_above(omega, np.ones(33), threshold)
        assert share == pytest.approx(1 - threshold / np.pi)
    assert spectrum.share_above(omega, (omega > 1.5).astype(float), 1.0) == pytest.approx(1)


def test_directions_are_unit_vectors_fixed_by_their_seed() -> None:
    a = spectrum.random_directions(50, 3, seed=0)
    assert a.norm(dim=1).tolist() == pytest.approx([1, 1, 1])
    assert torch.equal(a, spectrum.random_directions(50, 3, seed=0))
    assert not torch.equal(a, spectrum.random_directions(50, 3, seed=1))


def test_flat_gradient_holds_every_gradient_in_order() -> None:
    net = torch.nn.Linear(2, 1)
    net(torch.tensor([[3.0, 5.0]])).sum().backward()
    assert spectrum.flat_gradient(net).tolist() == [3, 5, 1]


def test_thirds_are_equal_and_in_order() -> None:
    parts = spectrum.thirds(np.arange(10.0))
    assert {k: v.tolist() for k, v in parts.items()} == {
        "early": [0, 1, 2],
        "middle": [3, 4, 5],
        "late": [6, 7, 8],
    }


def test_a_segment_longer_than_the_series_is_refused() -> None:
    with pytest.raises(ValueError, match="`segment` must be at most 10.*got 11"):
        spectrum.power_spectrum(np.ones((10, 1)), segment=11)
