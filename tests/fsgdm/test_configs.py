from __future__ import annotations

from dataclasses import fields, replace

import pytest

from reprise.fsgdm.experiments import configs as module
from reprise.fsgdm.experiments.configs import E1, E5, Setting, System, configs

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
FULL = QUICK | {"profile": "full", "n_seeds": 10, "n_seeds_study": 5}


def test_quick_runs_what_is_cheap_and_full_runs_all() -> None:
    assert list(configs(QUICK)) == ["e0", "e1", "e2", "e3", "e5", "b1", "b2"]
    full = configs(FULL | {"unknown": 1})
    assert list(full) == ["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "b1", "b2"]
    assert len(full["e3"].systems) == 36
    assert [s.problem for s in full["e2"].settings] == ["fashion", "mnist", "digits"]
    assert len(full["e5"].cs) * len(full["e5"].vs) == 25


@pytest.mark.parametrize("kind", [getattr(module, f"E{i}") for i in range(8)] + [module.B1])
def test_every_field_names_the_papers_value_and_none_has_a_default(kind) -> None:
    for field in fields(kind):
        assert "paper" in field.metadata, field.name
    with pytest.raises(TypeError):
        kind()
    assert kind.KEYS
    assert not set(kind.KEYS) & set(kind.TOLERANCES)


def test_all_runs_of_both_profiles_are_at_least_as_long_as_their_stages() -> None:
    smallest = {"fashion": 3240, "mnist": 3600, "digits": 1212}
    for parameters in (QUICK, FULL | {"n_train": 10_000, "epochs": 20, "epochs_study": 10}):
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
        (lambda: E5((), (0.0,), (1.0,), 3), r"`cs\[0\]` must be a positive number, got 0.0"),
        (
            lambda: replace(configs(FULL)["e4"], phase="later"),
            "`phase` must be one of.*'later'",
        ),
        (lambda: replace(configs(FULL)["e7"], optimizers=("SGD",)), "`optimizers` must be some of"),
        (lambda: replace(configs(FULL)["b1"], arms=()), "`arms` must be some of"),
        (lambda: replace(configs(FULL)["b2"], segment=4), "`segment` must be at least 8"),
        (lambda: replace(configs(FULL)["e0"], sigmas=(10, 20)), "`sigmas` must be at least two"),
    ],
)
def test_bad_configs_are_refused_by_name(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
