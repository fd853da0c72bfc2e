from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from reprise.fsgdm import train as module
from reprise.fsgdm.images import Images
from reprise.fsgdm.schedules import Schedule
from reprise.fsgdm.systems import study, three
from reprise.fsgdm.train import Recipe, accuracy, n_steps, row, train

STANDARD = Schedule("fixed", u=0.9)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Two classes that differ in brightness, so that a few steps suffice."""
    g = torch.Generator().manual_seed(0)
    y = torch.randint(2, (160,), generator=g)
    x = torch.randn(160, 1, 6, 6, generator=g) + 2 * (y[:, None, None, None] - 0.5)
    data = Images(x[:96], y[:96], x[96:128], y[96:128], x[128:], y[128:], 1, False, 2)
    monkeypatch.setattr(module, "load", lambda *words: data)
    return data


RECIPE = Recipe("digits", "mlp", 8, STANDARD, 0.05, 10, batch=16, n_stages=10)


def test_training_learns_and_counts_its_steps() -> None:
    trained = train(RECIPE, 0)
    assert n_steps(RECIPE) == 60
    assert trained.accuracy > 0.9
    assert trained.validation > 0.9
    assert trained.losses[-1] < trained.losses[0]
    assert trained.steps.tolist() == list(range(2, 61, 2))
    assert trained.loss == trained.losses[-1]
    assert row(trained)["diverged"] is False


def test_one_seed_gives_one_result_and_another_seed_another() -> None:
    a, b, c = train(RECIPE, 3), train(RECIPE, 3), train(RECIPE, 4)
    np.testing.assert_array_equal(a.losses, b.losses)
    assert (a.accuracy, a.validation, a.loss) == (b.accuracy, b.validation, b.loss)
    assert (a.losses != c.losses).any()


def test_runs_with_one_seed_see_the_same_images_whatever_the_optimizer() -> None:
    # The first loss depends on weights and first batch alone.
    fast = replace(RECIPE, epochs=10)
    first = [
        module._run(*_parts(replace(fast, schedule=s), seed=5))[0]
        for s in (STANDARD, Schedule("fixed", u=0.9, family="LP"), Schedule("rising", mu=0.033))
    ]
    assert first[0] == first[1] == first[2]


def test_another_seed_brings_other_batches_even_to_the_same_weights() -> None:
    runs = [module._run(*_parts(RECIPE, seed=5, order=order)) for order in (5, 5, 6)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert runs[0][0] != runs[2][0]


def test_validation_and_test_images_are_not_confused(monkeypatch, small) -> None:
    # All test labels wrong: what is learnt still shows on the validation images.
    data = replace(small, test_y=1 - small.test_y)
    monkeypatch.setattr(module, "load", lambda *words: data)
    trained = train(RECIPE, 0)
    assert trained.validation > 0.9
    assert trained.accuracy < 0.1


def test_the_recipe_reaches_the_optimizer(monkeypatch) -> None:
    seen = {}

    class Spy(module.MomentumSGD):
        def __init__(self, params, lr, **options) -> None:
            seen.update(options, lr=lr)
            super().__init__(params, lr, **options)

    monkeypatch.setattr(module, "MomentumSGD", Spy)
    rising = Schedule("rising", mu=0.033)
    train(replace(RECIPE, schedule=rising, weight_decay=0.01, first_step="gradient"), 0)
    assert seen == {
        "lr": 0.05,
        "schedule": rising,
        "sigma": 60,
        "n_stages": 10,
        "weight_decay": 0.01,
        "first_step": "gradient",
    }


def _parts(recipe: Recipe, seed: int, order: int | None = None):
    data = module.load()
    net = module.build(recipe.net, width=8, side=6, n_classes=2, seed=seed)
    optimizer = module.MomentumSGD(
        net.parameters(), recipe.lr, schedule=recipe.schedule, sigma=60, n_stages=10
    )
    order = seed if order is None else order
    return net, optimizer, data, recipe, np.full(60, recipe.lr), order, None


def test_the_learning_rate_is_annealed_by_stages_and_multiplied(monkeypatch) -> None:
    seen = []
    real = module.MomentumSGD.step

    def step(self, closure=None):
        seen.append(self.param_groups[0]["lr"])
        return real(self, closure)

    monkeypatch.setattr(module.MomentumSGD, "step", step)
    train(RECIPE, 0, factor=np.full(60, 2.0))
    tau = (np.arange(1, 61) // 6) * 6
    np.testing.assert_allclose(seen, 2 * 0.05 * (1 + np.cos(np.pi * tau / 60)) / 2)


def test_a_diverging_run_keeps_its_seed_and_counts_as_guessing() -> None:
    trained = train(replace(RECIPE, lr=1e6), 0)
    assert trained.diverged
    assert trained.accuracy == trained.validation == 0.5
    assert math.isnan(trained.loss)
    assert len(trained.losses) == len(trained.steps) == 30


def test_a_watcher_sees_every_step_and_its_gradient() -> None:
    seen = []
    train(RECIPE, 0, watch=lambda t, net: seen.append((t, net[1].weight.grad.norm().item())))
    assert [t for t, _ in seen] == list(range(1, 61))
    assert all(norm > 0 for _, norm in seen)


def test_accuracy_is_the_share_of_right_labels_in_evaluation_mode() -> None:
    class Brightness(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert not self.training
            return torch.stack([-x.mean((1, 2, 3)), x.mean((1, 2, 3))], 1)

    x = torch.tensor([-1.0, 1.0, 1.0, -1.0])[:, None, None, None].expand(4, 1, 2, 2)
    net = Brightness()
    assert accuracy(net, x, torch.tensor([0, 1, 0, 1]), batch=3) == 0.5
    assert net.training


def test_a_factor_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`factor` must have shape \(60,\), got \(3,\)"):
        train(RECIPE, 0, factor=np.ones(3))


def test_named_systems_are_those_of_the_paper() -> None:
    assert three("EMA") == (Schedule("fixed", u=0.9, family="LP"), "scaled")
    assert three("Standard") == (STANDARD, "scaled")
    assert three("FSGDM", c=0.1, v=2.0) == (Schedule("rising", mu=0.1, v=2.0), "gradient")
    assert study("HP", "fixed", 0.3) == Schedule("fixed", u=0.3, family="HP")
    assert study("LPG", "falling", 0.01) == Schedule("falling", mu=0.01)
    with pytest.raises(ValueError, match="`name` must be 'EMA', 'Standard' or 'FSGDM'"):
        three("Adam")
