from __future__ import annotations

from dataclasses import fields, replace

import pytest

from reprise.fsgdm.experiments import configs as module
from reprise.fsgdm.experiments.configs import E1, Setting, System, configs

QUICK = {
    "profile": "quick",
    "n_seeds": 5,
    "n_seeds_study": 3,
    "n_seeds_map": 3,
    "lr": 0.1,
    "c": 0.033,
    "v": 1.0,
    "n_train": 3600,
    "n_test": 2000,
    "epochs": 6,
    "epochs_study": 6,
    "width": 8,
}
FULL = QUICK | {
    "profile": "full",
    "n_seeds": 10,
    "n_seeds_study": 5,
    "n_train": 10_000,
    "n_test": 10_000,
    "epochs": 20,
    "epochs_study": 10,
    "width": 16,
}


def test_quick_runs_what_is_cheap_and_full_runs_all() -> None:
    assert list(configs(QUICK)) == ["e0", "e1", "e2", "e3", "e5", "b1", "b2"]
    full = configs(FULL | {"unknown": 1})
    assert list(full) == ["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "b1", "b2", "b3"]
    assert len(full["e3"].systems) == 36
    assert [s.problem for s in full["e2"].settings] == ["fashion", "mnist", "digits"]
    assert len(full["e5"].cs) * len(full["e5"].vs) == 25
    assert full["b2"].segment == 128
    short = configs(FULL | {"n_train": 3600, "epochs": 6, "epochs_study": 6})
    assert short["b2"].segment == 100  # a third of 300 steps


@pytest.mark.parametrize("kind", [getattr(module, f"E{i}") for i in range(8)] + [module.B1])
def test_every_field_names_the_papers_value_and_none_has_a_default(kind) -> None:
    for field in fields(kind):
        assert "paper" in field.metadata, field.name
    with pytest.raises(TypeError):
        kind()
    assert kind.KEYS
    assert not set(kind.KEYS) & set(kind.TOLERANCES)


def test_steps_of_a_setting_are_those_that_training_takes() -> None:
    from reprise.fsgdm.experiments.configs import BATCH, N_STAGES
    from reprise.fsgdm.schedules import Schedule
    from reprise.fsgdm.train import Recipe, n_steps

    system = Schedule("fixed", u=0.9)
    for setting in (
        Setting("fashion", "mlp", 8, 7, 0.1, 3600, 2000),
        Setting("fashion", "mlp", 8, 30, 0.1, 815, 10),
        Setting("digits", "mlp", 8, 17, 0.1, None, None),
    ):
        recipe = Recipe.of(setting, system)
        assert (recipe.batch, recipe.n_stages) == (BATCH, N_STAGES)
        assert n_steps(recipe) == setting.n_steps >= 300


def test_all_runs_of_both_profiles_are_at_least_as_long_as_their_stages() -> None:
    smallest = {"fashion": 3240, "mnist": 3600, "digits": 1212}
    for parameters in (QUICK, FULL):
        for config in configs(parameters).values():
            settings = getattr(config, "settings", None) or (getattr(config, "setting", None),)
            for setting in filter(None, settings):
                assert setting.epochs * (smallest[setting.problem] // 64) >= 300, setting


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_seeds": 0}, "`n_seeds` must be a whole number of at least 1, got 0"),
        ({"n_seeds_study": 1.5}, "`n_seeds_study` must be a whole number"),
        ({"c": -0.1}, "`c` must be a positive number, got -0.1"),
        ({"v": 0}, "`v` must be a positive number, got 0"),
        ({"lr": float("inf")}, "`lr` must be a positive number, got inf"),
        ({"n_train": 10}, "`n_train` must be a whole number in 800..60000, got 10"),
        ({"n_test": 10_001}, "`n_test` must be a whole number in 1..10000"),
        ({"epochs": 0}, "`epochs` must be a whole number"),
        ({"epochs": 5}, "`epochs` must be at least 6: 300 stages need 300 steps, got 5"),
        ({"epochs_study": 1}, "`epochs_study` must be at least 6: 300 stages.*got 1"),
        ({"n_train": 800}, "`epochs` must be at least 28: 300 stages.*got 6"),
        ({"profile": "ful"}, "`profile` must be one of .'quick', 'full'.*got 'ful'"),
        ({"lr": True}, "`lr` must be a positive number, got True"),
        ({"c": float("nan")}, "`c` must be a positive number, got nan"),
        ({"width": True}, "`width` must be a whole number"),
    ],
)
def test_bad_parameters_are_refused_by_name(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        configs(QUICK | change)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: E1((1.0,), 9, 5000, 1), "`us` must be at least one number strictly between"),
        (lambda: E1((0.5,), 9, 100, 1), "`n_steps` must be at least 2000"),
        (lambda: Setting("cifar", "mlp", 8, 1, 0.1, None, None), "`problem` must be one of"),
        (lambda: Setting("digits", "vit", 8, 1, 0.1, None, None), "`net` must be one of"),
        (lambda: System("BP", "rising", 1.0), "`family` must be one of"),
        (lambda: System("LP", "up", 1.0), "`sequence` must be one of"),
        (lambda: System("LP", "fixed", 1.0), "`value` must be a u below 1, got 1.0"),
        (
            lambda: replace(configs(QUICK)["e5"], cs=(0.0,)),
            r"`cs\[0\]` must be a positive number, got 0.0",
        ),
        (
            lambda: replace(configs(FULL)["e4"], phase="later"),
            "`phase` must be one of.*'later'",
        ),
        (lambda: replace(configs(FULL)["e7"], optimizers=("SGD",)), "`optimizers` must be some of"),
        (lambda: replace(configs(FULL)["b1"], arms=()), "`arms` must be some of"),
        (lambda: replace(configs(FULL)["b2"], segment=4), r"`segment` must be in 8\.\."),
        (lambda: replace(configs(QUICK)["b2"], segment=101), r"`segment` must be in 8\.\.100.*101"),
        (lambda: replace(configs(QUICK)["e2"], settings=()), "`settings` must be at least one"),
        (lambda: replace(configs(QUICK)["e3"], systems=()), "`systems` must be at least one"),
        (lambda: replace(configs(QUICK)["e5"], vs=()), "`vs` must be at least one"),
        (lambda: replace(configs(FULL)["e4"], lrs=()), "`lrs` must be at least one"),
        (lambda: replace(configs(FULL)["e7"], lrs=()), "`lrs` must be at least one"),
        (lambda: replace(configs(FULL)["e7"], phase="x"), "`phase` must be one of.*'x'"),
        (lambda: replace(configs(FULL)["e0"], sigmas=(10, 20)), "`sigmas` must be at least two"),
    ],
)
def test_bad_configs_are_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
