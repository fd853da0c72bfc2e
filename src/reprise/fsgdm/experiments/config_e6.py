"""The config of experiment E6: does the momentum schedule help in language modelling?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

NETS = ("lstm", "transformer")
OPTIMIZERS = ("EMA", "Standard", "FSGDM")
PHASES = ("tune", "final")


def _paper(text: str):
    return field(metadata={"paper": text})


@dataclass(frozen=True)
class E6:
    """Character models of one novel, each optimizer at its own best learning rate (C8)."""

    n_seeds: int = _paper("not known; translation on 6 IWSLT14 architectures")
    nets: tuple[str, ...] = _paper("LSTM, LSTM-W, Transformer of IWSLT14")
    optimizers: tuple[str, ...] = _paper("EMA-SGDM, Standard-SGDM, FSGDM")
    lrs: tuple[float, ...] = _paper("not known")
    phase: str = _paper("none: 'tune' tries all `lrs` with one seed, 'final' runs the seeds")
    tuning_seed: int = _paper("none")
    steps: int = _paper("not known")
    batch: int = _paper("not known")
    length: int = _paper("not known")
    c: float = _paper("0.033")
    v: float = _paper("1")
    u: float = _paper("0.9 (EMA and Standard)")
    n_stages: int = _paper("300 (one an epoch)")

    KEYS: ClassVar[tuple[str, ...]] = ("net", "optimizer", "lr", "phase", "seed")
    TOLERANCES: ClassVar[dict[str, str]] = {
        "bits": "statistical:4",
        "bits_tuning": "statistical:4",
        "bits_train": "statistical:4",
        "diverged": "exact",
    }
    ASSETS: ClassVar[tuple[str, ...]] = ("moby-dick",)

    def __post_init__(self) -> None:
        for name in ("n_seeds", "tuning_seed", "steps", "batch", "length", "n_stages"):
            value, least = getattr(self, name), 0 if name == "tuning_seed" else 1
            if type(value) is not int or value < least:
                raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}")
        for name, allowed in (("nets", NETS), ("optimizers", OPTIMIZERS)):
            value = getattr(self, name)
            if type(value) is not tuple or not value or not set(value) <= set(allowed):
                raise ValueError(f"`{name}` must be some of {allowed}, got {value!r}")
        if (
            type(self.lrs) is not tuple
            or not self.lrs
            or not all(type(lr) in (int, float) and lr > 0 for lr in self.lrs)
        ):
            raise ValueError(f"`lrs` must be a tuple of positive numbers, got {self.lrs!r}")
        if self.phase not in PHASES:
            raise ValueError(f"`phase` must be one of {PHASES}, got {self.phase!r}")
        if self.tuning_seed < self.n_seeds:
            raise ValueError(
                f"`tuning_seed` must not be one of the {self.n_seeds} seeds, got {self.tuning_seed}"
            )
        for name in ("c", "v"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not value > 0:
                raise ValueError(f"`{name}` must be a positive number, got {value!r}")
        if type(self.u) not in (int, float) or not 0 <= self.u < 1:
            raise ValueError(f"`u` must lie in [0, 1), got {self.u!r}")
        if self.steps < self.n_stages:
            raise ValueError(f"`steps` must be at least n_stages={self.n_stages}, got {self.steps}")


FULL = {
    "n_seeds": 5,
    "nets": NETS,
    "optimizers": OPTIMIZERS,
    "lrs": (0.1, 0.3, 1.0),
    "phase": "tune",
    "tuning_seed": 99,
    "steps": 2000,
    "batch": 16,
    "length": 64,
    "c": 0.033,
    "v": 1.0,
    "u": 0.9,
    "n_stages": 300,
}
