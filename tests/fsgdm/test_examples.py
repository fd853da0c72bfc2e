from __future__ import annotations

import numpy as np

from reprise.fsgdm import examples
from reprise.fsgdm.schedules import Schedule


def test_coupled_and_decoupled_take_the_same_steps() -> None:
    coupled = examples.descend(Schedule("fixed", u=0.9, family="LP"), 0.5)
    decoupled = examples.descend(Schedule("fixed", u=0.9), 0.05)
    assert coupled.shape == (100, 20)
    np.testing.assert_allclose(coupled, decoupled, atol=1e-12)
    assert np.linalg.norm(decoupled[-1]) < np.linalg.norm(decoupled[0])


def test_trace_shows_the_released_iterates() -> None:
    rows = examples.trace(c=0.5, n_steps=4, n_stages=2, lr=0.1)
    np.testing.assert_allclose(rows["x"], [0.9, 0.76, 0.614, 0.45526666666666665], rtol=1e-14)
    assert rows["u"].iloc[0] == 0
    assert rows.index.tolist() == [1, 2, 3, 4]
