from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reprise.fsgdm import examples, sentences
from reprise.fsgdm.schedules import Schedule

NOISE = np.array([-0.004, 0.001, 0.003, -0.002, 0.002])


def arms(filtered: float, back: float) -> pd.DataFrame:
    values = {
        "Standard": 0 * NOISE,
        "FSGDM": NOISE,
        "Standard as FSGDM": 0 * NOISE - filtered,
        "FSGDM as Standard": NOISE + back,
    }
    return pd.concat(
        pd.DataFrame({"arm": a, "seed": range(5), "accuracy": 0.7 + v}) for a, v in values.items()
    )


@pytest.mark.parametrize(
    ("filtered", "back", "words"),
    [
        (0.0, 0.0, "goes with the schedule of step sizes"),
        (0.05, 0.05, "The filter itself does something"),
        (0.05, 0.0, "don't come apart cleanly"),
        (-0.05, 0.0, "the fixed filter is ahead"),
        (0.0, -0.05, "the rising filter falls behind"),
    ],
)
def test_the_control_sentence_turns_with_its_numbers(filtered, back, words) -> None:
    assert words in sentences.control(arms(filtered, back))


@pytest.mark.parametrize(("late", "word"), [(0.9, "grows"), (0.5, "falls"), (0.7, "stays")])
def test_the_spectrum_sentence_turns_with_its_numbers(late, word) -> None:
    rows = pd.concat(
        pd.DataFrame(
            {
                "optimizer": "FSGDM",
                "part": part,
                "seed": range(5),
                "frequency": w,
                "power": 1.0,
                "above_half_power": share + NOISE * (part == "late"),
            }
        )
        for part, share in (("early", 0.7), ("middle", 0.7), ("late", late))
        for w in (0.0, 1.0)
    )
    text = sentences.spectrum(rows)
    assert text.startswith("With FSGDM")
    assert f"that share {word} (" in text


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
