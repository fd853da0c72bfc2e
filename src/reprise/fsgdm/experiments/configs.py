"""What each experiment of the chapter runs, in which profile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from reprise.fsgdm.experiments import config_e6
from reprise.fsgdm.experiments.config_e6 import E6

OPTIMIZERS = ("EMA", "Standard", "FSGDM")
N_STAGES, BATCH = 300, 64  # of every training run: the paper's stages, our batch
KEPT = {"mnist": 3600, "digits": 1212}  # training images of the fixed splits
TRAINED: dict[str, str] = {
    "accuracy": "statistical:4",
    "validation": "statistical:4",
    "loss": "statistical:4",
    "diverged": "exact",
}


def _paper(value: object) -> dict[str, object]:
    return {"paper": value}


def _check(**values: tuple[object, bool, str]) -> None:
    for name, (value, ok, allowed) in values.items():
        if not ok:
            raise ValueError(f"`{name}` must be {allowed}, got {value!r}")


def _counts(**values: int) -> None:
    for name, value in values.items():
        ok = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        _check(**{name: (value, ok, "a whole number of at least 1")})


def _positive(**values: float) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        ok = number and 0 < value < float("inf")
        _check(**{name: (value, ok, "a positive number")})


@dataclass(frozen=True)
class Setting:
    """An image problem and the net trained on it."""

    problem: str = field(metadata=_paper("CIFAR-10, CIFAR-100, Tiny-ImageNet, ImageNet"))
    net: str = field(metadata=_paper("ResNet18, ResNet34, ResNet50, VGG16"))
    width: int = field(metadata=_paper(64))
    epochs: int = field(metadata=_paper(300))
    lr: float = field(metadata=_paper(0.1))
    n_train: int | None = field(metadata=_paper("all"))
    n_test: int | None = field(metadata=_paper("all"))

    def __post_init__(self) -> None:
        problems, nets = ("fashion", "mnist", "digits"), ("resnet8", "vgg_mini", "mlp")
        _check(
            problem=(self.problem, self.problem in problems, f"one of {problems}"),
            net=(self.net, self.net in nets, f"one of {nets}"),
        )
        _counts(width=self.width, epochs=self.epochs)
        _positive(lr=self.lr)
        if self.n_train is not None:
            ok = isinstance(self.n_train, int) and 800 <= self.n_train <= 60_000
            _check(n_train=(self.n_train, ok, "a whole number in 800..60000"))
        if self.n_test is not None:
            ok = isinstance(self.n_test, int) and 1 <= self.n_test <= 10_000
            _check(n_test=(self.n_test, ok, "a whole number in 1..10000"))
        least = math.ceil(N_STAGES / (self.n_steps // self.epochs))
        allowed = f"at least {least}: {N_STAGES} stages need {N_STAGES} steps"
        _check(epochs=(self.epochs, self.epochs >= least, allowed))

    @property
    def n_steps(self) -> int:
        """Sigma, the optimizer steps of a run: a tenth of the images is held out."""
        n = self.n_train or 60_000
        kept = KEPT.get(self.problem, n - round(0.1 * n))
        return self.epochs * (kept // BATCH)

    @property
    def name(self) -> str:
        """Short name of the problem and net."""
        return f"{self.problem}/{self.net}"


@dataclass(frozen=True)
class System:
    """A momentum system of the study: family, sequence, and its one number."""

    family: str = field(metadata=_paper("LP, HP, LPG, HPG"))
    sequence: str = field(metadata=_paper("rising, fixed, falling"))
    value: float = field(metadata=_paper("mu/Sigma of .00085, .0085, .085, or u of .3, .6, .9"))

    def __post_init__(self) -> None:
        families, sequences = ("LP", "HP", "LPG", "HPG"), ("rising", "fixed", "falling")
        _check(
            family=(self.family, self.family in families, f"one of {families}"),
            sequence=(self.sequence, self.sequence in sequences, f"one of {sequences}"),
        )
        _positive(value=self.value)
        if self.sequence == "fixed":
            _check(value=(self.value, self.value < 1, "a u below 1"))


@dataclass(frozen=True)
class E0:
    """Proposition 1: the stages at several lengths of training."""

    sigmas: tuple[int, ...] = field(metadata=_paper("any"))
    n_stages: int = field(metadata=_paper(300))
    c: float = field(metadata=_paper(0.033))
    n_seeds: int = field(metadata=_paper("none: nothing is random"))

    KEYS: ClassVar = ("sigma", "stage")
    TOLERANCES: ClassVar = {"u": "rtol:1e-12", "difference": "statistical:4"}
    ASSETS: ClassVar = ()

    def __post_init__(self) -> None:
        _counts(n_stages=self.n_stages, n_seeds=self.n_seeds)
        _positive(c=self.c)
        ok = len(self.sigmas) > 1 and all(s >= self.n_stages for s in self.sigmas)
        _check(sigmas=(self.sigmas, ok, f"at least two numbers of at least {self.n_stages}"))


@dataclass(frozen=True)
class E1:
    """Measured against predicted gains."""

    us: tuple[float, ...] = field(metadata=_paper("u of 0, .3, .6, .9 and -.9"))
    n_frequencies: int = field(metadata=_paper("none: the paper derives, we measure"))
    n_steps: int = field(metadata=_paper("none"))
    n_seeds: int = field(metadata=_paper("none: nothing is random"))

    KEYS: ClassVar = ("coupling", "u", "k", "omega")
    TOLERANCES: ClassVar = {
        "gain": "rtol:1e-9",
        "measured": "rtol:1e-6",
        "phase": "rtol:1e-9",
        "measured_phase": "statistical:4",
    }
    ASSETS: ClassVar = ()

    def __post_init__(self) -> None:
        ok = len(self.us) > 0 and all(-1 < u < 1 for u in self.us)
        _check(us=(self.us, ok, "at least one number strictly between -1 and 1"))
        _counts(n_frequencies=self.n_frequencies, n_seeds=self.n_seeds)
        _check(n_steps=(self.n_steps, self.n_steps >= 2000, "at least 2000 (transient and fit)"))


@dataclass(frozen=True)
class E2:
    """EMA-SGDM, Standard-SGDM and FSGDM at one learning rate."""

    settings: tuple[Setting, ...] = field(metadata=_paper("7 image pairs"))
    optimizers: tuple[str, ...] = field(metadata=_paper(OPTIMIZERS))
    c: float = field(metadata=_paper(0.033))
    v: float = field(metadata=_paper(1.0))
    n_seeds: int = field(metadata=_paper(3))

    KEYS: ClassVar = ("problem", "net", "optimizer", "seed", "step")
    TOLERANCES: ClassVar = TRAINED
    ASSETS: ClassVar = ("fashion-mnist", "mnist-5k", "digits")

    def __post_init__(self) -> None:
        _some(settings=self.settings)
        _optimizers(self.optimizers)
        _positive(c=self.c, v=self.v)
        _counts(n_seeds=self.n_seeds)


@dataclass(frozen=True)
class E3:
    """The study: four families, three sequences each."""

    settings: tuple[Setting, ...] = field(metadata=_paper("VGG16/CIFAR-10, ResNet50/CIFAR-100"))
    systems: tuple[System, ...] = field(metadata=_paper("4 families x 3 sequences x 3 values"))
    n_seeds: int = field(metadata=_paper(3))
    n_seeds_vgg: int = field(metadata=_paper(3))

    KEYS: ClassVar = ("problem", "net", "family", "sequence", "value", "seed")
    TOLERANCES: ClassVar = TRAINED
    ASSETS: ClassVar = ("fashion-mnist",)

    def __post_init__(self) -> None:
        _some(settings=self.settings, systems=self.systems)
        _counts(n_seeds=self.n_seeds, n_seeds_vgg=self.n_seeds_vgg)


@dataclass(frozen=True)
class E4:
    """Each optimizer at its own best learning rate."""

    setting: Setting = field(metadata=_paper("none: the paper uses one learning rate"))
    optimizers: tuple[str, ...] = field(metadata=_paper(OPTIMIZERS))
    lrs: tuple[float, ...] = field(metadata=_paper((0.1,)))
    phase: str = field(metadata=_paper("none"))  # "tune", "final" or "both"
    c: float = field(metadata=_paper(0.033))
    v: float = field(metadata=_paper(1.0))
    n_tune: int = field(metadata=_paper("none"))
    n_seeds: int = field(metadata=_paper(3))

    KEYS: ClassVar = ("optimizer", "lr", "phase", "seed")
    TOLERANCES: ClassVar = TRAINED
    ASSETS: ClassVar = ("fashion-mnist",)

    def __post_init__(self) -> None:
        _optimizers(self.optimizers)
        _some(lrs=self.lrs)
        _positive(c=self.c, v=self.v, **{f"lrs[{i}]": lr for i, lr in enumerate(self.lrs)})
        _counts(n_tune=self.n_tune, n_seeds=self.n_seeds)
        _phase(self.phase)


@dataclass(frozen=True)
class E5:
    """The plane of c and v."""

    settings: tuple[Setting, ...] = field(
        metadata=_paper("ResNet18/CIFAR-10, ResNet34/Tiny-ImageNet, ResNet50/CIFAR-100")
    )
    cs: tuple[float, ...] = field(metadata=_paper("a grid around .033"))
    vs: tuple[float, ...] = field(metadata=_paper("a grid around 1"))
    n_seeds: int = field(metadata=_paper(3))

    KEYS: ClassVar = ("problem", "net", "c", "v", "seed")
    TOLERANCES: ClassVar = TRAINED
    ASSETS: ClassVar = ("mnist-5k", "digits")

    def __post_init__(self) -> None:
        _some(settings=self.settings, cs=self.cs, vs=self.vs)
        _positive(**{f"cs[{i}]": c for i, c in enumerate(self.cs)})
        _positive(**{f"vs[{i}]": v for i, v in enumerate(self.vs)})
        _counts(n_seeds=self.n_seeds)


@dataclass(frozen=True)
class E7:
    """PPO with its optimizer replaced."""

    task: str = field(metadata=_paper("3 MuJoCo tasks"))
    optimizers: tuple[str, ...] = field(metadata=_paper(("Adam", "Standard", "FSGDM")))
    lrs: tuple[float, ...] = field(metadata=_paper("unknown"))
    phase: str = field(metadata=_paper("none"))  # "tune", "final" or "both"
    n_rollouts: int = field(metadata=_paper("unknown"))
    c: float = field(metadata=_paper(0.033))
    v: float = field(metadata=_paper(1.0))
    n_seeds: int = field(metadata=_paper(10))

    KEYS: ClassVar = ("task", "optimizer", "lr", "phase", "seed")
    TOLERANCES: ClassVar = {"last_return": "statistical:4", "diverged": "exact"}
    ASSETS: ClassVar = ()

    def __post_init__(self) -> None:
        allowed = ("Adam", "Standard", "FSGDM")
        ok = len(self.optimizers) > 0 and set(self.optimizers) <= set(allowed)
        _check(optimizers=(self.optimizers, ok, f"some of {allowed}"))
        _some(lrs=self.lrs)
        _phase(self.phase)
        _positive(c=self.c, v=self.v, **{f"lrs[{i}]": lr for i, lr in enumerate(self.lrs)})
        _counts(n_rollouts=self.n_rollouts, n_seeds=self.n_seeds)


@dataclass(frozen=True)
class B1:
    """Is it the filter or the step size? Controls matched in effective learning rate."""

    setting: Setting = field(metadata=_paper("none: beyond the paper"))
    arms: tuple[str, ...] = field(metadata=_paper("none"))
    c: float = field(metadata=_paper(0.033))
    n_seeds: int = field(metadata=_paper("none"))

    KEYS: ClassVar = ("arm", "seed")
    TOLERANCES: ClassVar = TRAINED
    ASSETS: ClassVar = ("fashion-mnist",)

    def __post_init__(self) -> None:
        allowed = ("Standard", "FSGDM", "Standard as FSGDM", "FSGDM as Standard")
        ok = len(self.arms) > 0 and set(self.arms) <= set(allowed)
        _check(arms=(self.arms, ok, f"some of {allowed}"))
        _positive(c=self.c)
        _counts(n_seeds=self.n_seeds)


@dataclass(frozen=True)
class B2:
    """The spectrum of the gradients of a real training run."""

    setting: Setting = field(metadata=_paper("none: beyond the paper"))
    optimizers: tuple[str, ...] = field(metadata=_paper("none"))
    n_directions: int = field(metadata=_paper("none"))
    segment: int = field(metadata=_paper("none"))  # steps per Welch segment
    c: float = field(metadata=_paper(0.033))
    n_seeds: int = field(metadata=_paper("none"))

    KEYS: ClassVar = ("optimizer", "part", "frequency", "seed")
    TOLERANCES: ClassVar = {"power": "statistical:6", "above_half_power": "statistical:6"}
    ASSETS: ClassVar = ("fashion-mnist",)

    def __post_init__(self) -> None:
        _optimizers(self.optimizers)
        _positive(c=self.c)
        _counts(n_directions=self.n_directions, n_seeds=self.n_seeds)
        third = self.setting.n_steps // 3
        allowed = f"in 8..{third} steps (a third of training)"
        _check(segment=(self.segment, 8 <= self.segment <= third, allowed))


def _some(**values: tuple[object, ...]) -> None:
    for name, value in values.items():
        _check(**{name: (value, len(value) > 0, "at least one")})


def _phase(phase: str) -> None:
    phases = ("tune", "final", "both")
    _check(phase=(phase, phase in phases, f"one of {phases}"))


@dataclass(frozen=True)
class B3:
    """What an optimizer step costs, beside its peers."""

    widths: tuple[int, ...] = field(metadata=_paper("none: beyond the paper"))
    sizes: tuple[int, ...] = field(metadata=_paper("none"))
    n_repeats: int = field(metadata=_paper("none"))
    n_seeds: int = field(metadata=_paper("none"))

    KEYS: ClassVar = ("tensors", "role")
    TOLERANCES: ClassVar = {"n_parameters": "exact", "microseconds": "timing"}
    ASSETS: ClassVar = ()

    def __post_init__(self) -> None:
        _counts(n_repeats=self.n_repeats, n_seeds=self.n_seeds)
        _counts(**{f"widths[{i}]": w for i, w in enumerate(self.widths)})
        _counts(**{f"sizes[{i}]": n for i, n in enumerate(self.sizes)})


def _optimizers(names: tuple[str, ...]) -> None:
    ok = len(names) > 0 and set(names) <= set(OPTIMIZERS)
    _check(optimizers=(names, ok, f"some of {OPTIMIZERS}"))


def _study(values: tuple[float, ...], us: tuple[float, ...]) -> tuple[System, ...]:
    return tuple(
        System(family, sequence, value)
        for family in ("LP", "HP", "LPG", "HPG")
        for sequence in ("rising", "fixed", "falling")
        for value in (us if sequence == "fixed" else values)
    )


def _fashion(p: Mapping[str, object], net: str, width: int, epochs: str) -> Setting:
    """Return a setting on Fashion-MNIST whose number of epochs is the parameter `epochs`."""
    try:
        return Setting("fashion", net, width, p[epochs], p["lr"], p["n_train"], p["n_test"])
    except ValueError as error:
        raise ValueError(str(error).replace("`epochs`", f"`{epochs}`")) from None


def configs(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return experiment -> config of what a profile runs.

    Parameters
    ----------
    parameters : the chapter's parameters by name (others are ignored)

    Raises
    ------
    ValueError
        For a value out of range; names the parameter.
    """
    p = parameters
    profiles = ("quick", "full")
    _check(profile=(p["profile"], p["profile"] in profiles, f"one of {profiles}"))
    full = p["profile"] == "full"
    n_seeds, lr, c, v = p["n_seeds"], p["lr"], p["c"], p["v"]
    _positive(lr=lr, c=c, v=v)
    _counts(n_seeds=n_seeds, n_seeds_study=p["n_seeds_study"], n_seeds_map=p["n_seeds_map"])
    fashion = _fashion(p, "resnet8", p["width"], "epochs")
    study = _fashion(p, "resnet8", 8, "epochs_study")
    found: dict[str, object] = {
        "e0": E0((100, 1000, 117_000), 100, c, 1),
        "e1": E1((0.0, 0.3, 0.6, 0.9, -0.9), 9, 5000, 1),
    }
    if not full:
        quick = (
            System("LP", "rising", 0.0085),
            System("LP", "falling", 0.0085),
            System("LPG", "rising", 0.0085),
            System("LPG", "falling", 0.0085),
            System("HP", "fixed", 0.9),
            System("LP", "fixed", 0.9),
            System("LPG", "fixed", 0.9),
        )
        digits = Setting("digits", "mlp", 64, 20, lr, None, None)
        return found | {
            "e2": E2((fashion,), OPTIMIZERS, c, v, n_seeds),
            "e3": E3((study,), quick, p["n_seeds_study"], p["n_seeds_study"]),
            "e5": E5((digits,), (0.0033, 0.033, 0.33), (0.1, 1.0, 10.0), p["n_seeds_map"]),
            "b1": B1(
                fashion, ("Standard", "FSGDM", "Standard as FSGDM", "FSGDM as Standard"), c,
                p["n_seeds_study"],
            ),
            "b2": B2(fashion, ("Standard", "FSGDM"), 32, 64, c, p["n_seeds_study"]),
        }  # fmt: skip
    three = (
        fashion,
        Setting("mnist", "resnet8", 16, 40, lr, None, None),
        Setting("digits", "resnet8", 8, 60, lr, None, None),
    )
    maps = (
        Setting("digits", "resnet8", 8, 60, 0.1, None, None),
        Setting("mnist", "resnet8", 8, 20, 0.1, None, None),
    )
    lrs = (0.01, 0.03, 0.1, 0.3, 1.0)
    vgg = _fashion(p, "vgg_mini", 8, "epochs_study")
    values = (0.00085, 0.0085, 0.085)
    return found | {
        "e2": E2(three, OPTIMIZERS, c, v, n_seeds),
        "e3": E3((study, vgg), _study(values, (0.3, 0.6, 0.9)), p["n_seeds_study"], 3),
        "e4": E4(study, OPTIMIZERS, lrs, "both", c, v, 3, n_seeds),
        "e5": E5(
            maps, (0.0033, 0.01, 0.033, 0.1, 0.33), (0.1, 0.3, 1.0, 3.0, 10.0), p["n_seeds_map"]
        ),
        "e6": E6(**config_e6.FULL | {"c": c, "v": v}),
        "e7": E7(
            "InvertedDoublePendulum-v5", ("FSGDM", "Standard", "Adam"), (0.003, 0.03, 0.3),
            "both", 30, c, v, 10,
        ),
        "b1": B1(
            fashion, ("Standard", "FSGDM", "Standard as FSGDM", "FSGDM as Standard"), c, n_seeds
        ),
        "b2": B2(
            study, ("Standard", "FSGDM"), 32, min(128, study.n_steps // 3), c, p["n_seeds_map"]
        ),
        "b3": B3((8, 64), (10_000, 100_000, 1_000_000, 10_000_000), 200, 1),
    }  # fmt: skip
