"""Each experiment on a case small enough for seconds: columns, cells, choices, determinism."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from reprise import results
from reprise.fsgdm.experiments import b1, b2, b3, e0, e1, e2, e3, e4, e5, e7
from reprise.fsgdm.experiments import configs as configs_module
from reprise.fsgdm.experiments.configs import Setting, configs
from reprise.fsgdm.filters import half_power_frequency
from reprise.fsgdm.optim import FSGDM, MomentumSGD
from reprise.fsgdm.spectrum import (
    flat_gradient,
    power_spectrum,
    random_directions,
    share_above,
    thirds,
)
from reprise.fsgdm.systems import study, three
from reprise.fsgdm.train import Recipe, Trained, train

from .test_configs import FULL, QUICK

TINY = Setting("digits", "mlp", 4, 17, 0.1, None, None)  # 306 steps, a tenth of a second


def tiny(name: str):
    config = configs(FULL if name == "e4" else QUICK)[name]
    if name in ("e2", "e3", "e5"):
        config = replace(config, settings=(TINY,))
    elif name in ("e4", "b1", "b2"):
        config = replace(config, setting=TINY)
    if name == "e3":
        config = replace(config, systems=config.systems[:3])
    if name == "e4":
        config = replace(config, lrs=(0.1, 0.3), phase="tune")
    if name == "e5":
        config = replace(config, cs=(0.033,), vs=(0.1, 1.0))
    return config


@pytest.mark.parametrize("name", ["e0", "e1", "e2", "e3", "e4", "e5", "b1", "b2"])
def test_rows_have_the_declared_columns_and_come_again(name) -> None:
    module = importlib.import_module(f"reprise.fsgdm.experiments.{name}")
    config = tiny(name)
    if name == "e1":
        config = replace(config, n_steps=2000)
    rows = pd.DataFrame(module.run(config, 0))
    results.check_rows(config, rows, name)
    again = pd.DataFrame(module.run(config, 0))
    pd.testing.assert_frame_equal(rows, again)


@pytest.mark.parametrize("name", ["e2", "e3", "e5", "b1"])
def test_cells_together_are_the_whole(name) -> None:
    module = importlib.import_module(f"reprise.fsgdm.experiments.{name}")
    config = tiny(name)
    whole = pd.DataFrame(module.run(config, 1))
    parts = pd.DataFrame([row for c in module.cells(config, []) for row in module.run(c, 1)])
    keys = list(config.KEYS)
    pd.testing.assert_frame_equal(
        whole.sort_values(keys, ignore_index=True), parts.sort_values(keys, ignore_index=True)
    )


@pytest.fixture
def recipes(monkeypatch):
    """Let experiments train nothing, and say what they would have trained."""
    seen = []

    def fake(recipe, seed, **options):
        seen.append(recipe)
        return Trained(0.5, 0.25, 1.0, False, np.array([1]), np.array([1.0]))

    for module in (b1, e2, e3, e4, e5):
        monkeypatch.setattr(module, "train", fake)
    return seen


def test_optimizers_are_compared_with_the_c_and_v_asked_for(recipes) -> None:
    e2.run(replace(tiny("e2"), c=0.1, v=2.0), 0)
    assert recipes == [Recipe.of(TINY, *three(n, c=0.1, v=2.0)) for n in configs_module.OPTIMIZERS]


def test_the_study_trains_the_systems_it_names(recipes) -> None:
    config = replace(configs(FULL)["e3"], settings=(TINY,))
    rows = e3.run(config, 0)
    assert [r.schedule for r in recipes] == [
        study(row["family"], row["sequence"], row["value"]) for row in rows
    ]
    assert len({r.schedule for r in recipes}) == 36
    assert {r.first_step for r in recipes} == {"scaled"}


def test_tuning_trains_with_each_rate_of_the_grid(recipes) -> None:
    rows = e4.run(replace(tiny("e4"), lrs=(0.02, 0.7), c=0.1), 0)
    assert [r.lr for r in recipes] == [row["lr"] for row in rows] == [0.02, 0.7] * 3
    assert [r.schedule for r in recipes[::2]] == [
        three(n, c=0.1)[0] for n in configs_module.OPTIMIZERS
    ]


def test_the_map_trains_each_c_with_each_v(recipes) -> None:
    rows = e5.run(tiny("e5"), 0)
    assert [(r.schedule.mu, r.schedule.v) for r in recipes] == [(0.033, 0.1), (0.033, 1.0)]
    assert [(row["c"], row["v"]) for row in rows] == [(0.033, 0.1), (0.033, 1.0)]
    assert {r.first_step for r in recipes} == {"gradient"}


def test_stages_are_compared_with_those_of_the_first_length(monkeypatch) -> None:
    config = configs(QUICK)["e0"]
    rows = pd.DataFrame(e0.run(config, 0))
    assert len(rows) == 3 * 101
    assert rows["difference"].max() <= 1e-15
    assert rows.loc[rows["stage"] == 100, "u"].tolist() == pytest.approx([1 / 1.033] * 3)
    # An optimizer whose mu were absolute would be found out.
    monkeypatch.setattr(e0, "fsgdm_u", lambda t, c, sigma, n: t / (t + 100 * c))
    assert pd.DataFrame(e0.run(config, 0))["difference"].max() > 0.1


def test_gradients_are_projected_on_the_same_directions_in_every_run() -> None:
    config = tiny("b2")
    gradients = []
    train(
        Recipe.of(TINY, *three("Standard")), 3,
        watch=lambda t, net: gradients.append(flat_gradient(net)),
    )  # fmt: skip
    n = len(gradients[0])
    directions = random_directions(n, config.n_directions, seed=b2.DIRECTIONS_SEED)
    expected = torch.stack(gradients).double().numpy() @ directions.double().numpy().T
    found = b2.projections(config, "Standard", 3)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    rows = pd.DataFrame(b2.run(replace(config, optimizers=("Standard",)), 3))
    for part, x in thirds(expected).items():
        share = share_above(*power_spectrum(x, segment=64), half_power_frequency(0.9))
        assert rows.loc[rows["part"] == part, "above_half_power"].iloc[0] == pytest.approx(
            share, rel=1e-4
        )


def test_measured_gains_are_the_predicted_ones() -> None:
    rows = pd.DataFrame(e1.run(configs(QUICK)["e1"], 0))
    assert len(rows) == 2 * 5 * 9
    assert (rows["measured"] / rows["gain"] - 1).abs().max() < 1e-3
    turn = np.exp(1j * rows["measured_phase"]) - np.exp(1j * rows["phase"])
    assert np.abs(turn).max() < 1e-3


def test_fit_recovers_amplitude_and_phase() -> None:
    t = np.arange(50, 250)
    h = e1.fit(3 * np.cos(0.3 * t - 0.7), 0.3, 50)
    assert (abs(h), np.angle(h)) == pytest.approx((3, -0.7))
    assert e1.fit(np.full(20, 2.5), 0.0, 7) == pytest.approx(2.5)


def test_the_study_gives_the_net_without_residuals_its_own_seeds() -> None:
    cells = e3.cells(configs(FULL)["e3"], [])
    assert len(cells) == 72
    seeds = {cell.settings[0].net: cell.n_seeds for cell in cells}
    assert seeds == {"resnet8": 5, "vgg_mini": 3}


def row(optimizer: str, lr: float, seed: int, validation: float) -> dict[str, object]:
    return {
        "optimizer": optimizer,
        "lr": lr,
        "phase": "tune",
        "seed": seed,
        "validation": validation,
        "accuracy": -validation,  # must not be looked at
    }


def test_learning_rates_are_chosen_by_validation_and_judged_by_fresh_seeds() -> None:
    config = configs(FULL)["e4"]
    grid = e4.cells(config, [])
    assert len(grid) == 15
    assert {tuple(e4.seeds(c)) for c in grid} == {(0, 1, 2)}
    rows = [
        row(c.optimizers[0], c.lrs[0], s, 0.5 + (c.lrs[0] == 0.3) * 0.1)
        for c in grid
        for s in e4.seeds(c)
    ]
    final = [c for c in e4.cells(config, rows) if c.phase == "final"]
    assert [(c.optimizers, c.lrs) for c in final] == [
        (("EMA",), (0.3,)),
        (("Standard",), (0.3,)),
        (("FSGDM",), (0.3,)),
    ]
    assert list(e4.seeds(final[0])) == list(range(100, 110))
    assert e4.cells(config, rows[:-1])[-1].phase == "tune"  # FSGDM's grid isn't whole yet


def test_a_tie_goes_to_the_smaller_rate() -> None:
    rows = [row("EMA", lr, 0, 0.7) for lr in (0.1, 0.01)]
    assert e4.best_lr(rows, "EMA", (0.1, 0.01), 1) == 0.01


def test_controls_have_the_effective_rate_of_the_other() -> None:
    ratio = b1.gain_ratio(3000, 300, 0.033)
    assert ratio[0] == pytest.approx(0.1)  # FSGDM starts with gain 1, Standard has 10
    assert ratio[-1] == pytest.approx((1 + 1 / 0.033) / 10)
    assert (np.diff(ratio) >= 0).all()


def test_controls_train_with_their_factors(monkeypatch) -> None:
    seen = {}

    def fake(recipe, seed, factor=None):
        seen[(recipe.schedule.kind, factor is None)] = factor
        return Trained(0.5, 0.5, 1.0, False, np.array([1]), np.array([1.0]))

    monkeypatch.setattr(b1, "train", fake)
    b1.run(tiny("b1"), 0)
    ratio = b1.gain_ratio(306, 300, 0.033)
    np.testing.assert_allclose(seen[("fixed", False)], ratio)
    np.testing.assert_allclose(seen[("rising", False)], 1 / ratio)
    assert seen[("fixed", True)] is None
    assert seen[("rising", True)] is None


def test_agents_are_tuned_on_an_extra_seed_but_adam() -> None:
    config = configs(FULL)["e7"]
    first = e7.cells(config, [])
    assert [(c.optimizers[0], c.phase) for c in first] == [
        *[("FSGDM", "tune")] * 3,
        *[("Standard", "tune")] * 3,
        ("Adam", "final"),
    ]
    assert list(e7.seeds(first[0])) == [99]
    rows = [
        {"optimizer": "FSGDM", "lr": lr, "phase": "tune", "last_return": 100 * lr}
        for lr in config.lrs
    ]
    (final,) = [
        c for c in e7.cells(config, rows) if c.phase == "final" and c.optimizers == ("FSGDM",)
    ]
    assert final.lrs == (0.3,)
    assert list(e7.seeds(final)) == list(range(10))


def test_an_agents_optimizer_knows_how_many_updates_there_will_be(monkeypatch) -> None:
    class Asked(Exception):
        pass

    def spy(name, sigma, c, v):
        raise Asked(name, sigma, c, v)

    config = replace(configs(FULL)["e7"], optimizers=("FSGDM",), c=0.1, v=2.0)
    kind, options = e7._optimizer("FSGDM", 9600, 0.1, 2.0)
    assert kind is FSGDM
    assert options == {"sigma": 9600, "n_stages": 300, "c": 0.1, "v": 2.0}
    kind, options = e7._optimizer("Standard", 9600, 0.1, 2.0)
    assert kind is MomentumSGD
    assert options["schedule"] == three("Standard")[0]
    monkeypatch.setattr(e7, "_optimizer", spy)
    with pytest.raises(Asked, match=r"'FSGDM', 9600, 0.1, 2.0"):
        e7.run(config, 0)  # 30 roll-outs of 2048, in 10 epochs of minibatches of 64


@pytest.mark.parametrize("broken", ["spread of zero", "means of nan"])
def test_an_agent_that_diverges_keeps_its_seed_and_returns_nothing(monkeypatch, broken) -> None:
    from stable_baselines3 import PPO

    learn = PPO.learn

    def poisoned(self, *words):
        self.policy.action_net.weight.data.fill_(torch.nan)
        return learn(self, *words)

    lr = 0.3
    if broken == "spread of zero":
        lr = 1e38  # the logarithm of the spread runs off, its exponential underflows
    else:
        monkeypatch.setattr(PPO, "learn", poisoned)
    monkeypatch.setattr(e7, "ROLLOUT", 128)
    config = replace(configs(FULL)["e7"], optimizers=("FSGDM",), lrs=(lr,), n_rollouts=15)
    (found,) = e7.run(config, 4)
    assert (found["diverged"], found["last_return"], found["seed"]) == (True, 0.0, 4)


def test_other_errors_of_an_agent_are_not_taken_for_divergence(monkeypatch) -> None:
    from stable_baselines3 import PPO

    config = replace(configs(FULL)["e7"], optimizers=("FSGDM",), lrs=(0.3,))
    monkeypatch.setattr(PPO, "learn", lambda self, *words: int("nan"))
    with pytest.raises(ValueError, match="invalid literal"):
        e7.run(config, 4)


@pytest.mark.parametrize("name", ["FSGDM", "Standard", "Adam"])
def test_an_agent_trains_with_each_optimizer(name) -> None:
    config = replace(configs(FULL)["e7"], optimizers=(name,), lrs=(3e-4,), n_rollouts=1)
    (found,) = e7.run(config, 0)
    results.check_rows(config, pd.DataFrame([found]), "e7")
    assert found["last_return"] > 10
    assert not found["diverged"]


def test_steps_are_timed_for_all_three() -> None:
    config = replace(configs(FULL)["b3"], widths=(2,), sizes=(50,), n_repeats=2)
    rows = pd.DataFrame(b3.run(config, 0))
    results.check_rows(config, rows, "b3")
    assert len(rows) == 6
    assert (rows["microseconds"] > 0).all()
    assert set(rows["role"]) == set(b3.ROLES)
    with pytest.raises(ValueError, match="`role` must be one of.*'Adam'"):
        b3.optimizer("Adam", [])
