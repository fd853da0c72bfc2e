"""Train one classifier with one momentum system; runs with one seed are paired."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from reprise.fsgdm.images import Images, epoch, load
from reprise.fsgdm.nets import build
from reprise.fsgdm.optim import FirstStep, MomentumSGD
from reprise.fsgdm.schedules import Schedule, cosine

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import Setting

N_POINTS = 30  # of the training-loss curve


@dataclass(frozen=True)
class Recipe:
    """Everything about a training run but its seed.

    Attributes
    ----------
    problem, n_train, n_test : as `images.load`
    net, width : as `nets.build`
    schedule : the momentum system
    lr : base learning rate, annealed by a cosine per stage
    epochs, batch : an incomplete last batch is dropped
    n_stages : stages of the schedule (the paper: 300)
    weight_decay : coupled L2
    first_step : as `MomentumSGD`
    """

    problem: str
    net: str
    width: int
    schedule: Schedule
    lr: float
    epochs: int
    n_train: int | None = None
    n_test: int | None = None
    batch: int = 64
    n_stages: int = 300
    weight_decay: float = 5e-4
    first_step: FirstStep = "scaled"

    @classmethod
    def of(cls, setting: Setting, schedule: Schedule, first_step: FirstStep = "scaled") -> Recipe:
        """Return the recipe of a setting of the experiments with a momentum system."""
        return cls(
            setting.problem,
            setting.net,
            setting.width,
            schedule,
            setting.lr,
            setting.epochs,
            setting.n_train,
            setting.n_test,
            first_step=first_step,
        )


@dataclass(frozen=True)
class Trained:
    """How a run ended: last-epoch accuracies in [0, 1] and the curve of its training loss."""

    accuracy: float
    validation: float
    loss: float
    diverged: bool
    steps: np.ndarray  # (P,) at the end of each stretch of the curve
    losses: np.ndarray  # (P,) mean training loss of the stretch


Rate = Callable[[int], float]
Watch = Callable[[int, nn.Module], None]


def n_steps(recipe: Recipe, data: Images | None = None) -> int:
    """Return Sigma, the number of optimizer steps of a run."""
    data = data or load(recipe.problem, recipe.n_train, recipe.n_test)
    return recipe.epochs * (len(data.train_y) // recipe.batch)


def train(
    recipe: Recipe, seed: int, *, factor: np.ndarray | None = None, watch: Watch | None = None
) -> Trained:
    """Train a net and return how it ended.

    Weights, batch order, crops and flips come from `seed` alone, so that two recipes with one seed
    are a pair. A run whose loss is no longer finite stops and counts with the accuracy of constant
    guessing.

    Parameters
    ----------
    recipe : what to train
    seed : non-negative
    factor : shape (Sigma,), multiplies the annealed learning rate of each step (a control)
    watch : called as watch(t, net) after the backward pass of each step, before the update
    """
    data = load(recipe.problem, recipe.n_train, recipe.n_test)
    sigma = n_steps(recipe, data)
    t = np.arange(1, sigma + 1)
    rates = recipe.lr * cosine(t, sigma, recipe.n_stages)
    if factor is not None:
        if np.shape(factor) != (sigma,):
            raise ValueError(f"`factor` must have shape ({sigma},), got {np.shape(factor)}")
        rates = rates * factor
    net = build(recipe.net, width=recipe.width, side=data.side, n_classes=data.n_classes, seed=seed)
    optimizer = MomentumSGD(
        net.parameters(),
        recipe.lr,
        schedule=recipe.schedule,
        sigma=sigma,
        n_stages=recipe.n_stages,
        weight_decay=recipe.weight_decay,
        first_step=recipe.first_step,
    )
    losses = _run(net, optimizer, data, recipe, rates, seed, watch)
    ends = np.unique(np.linspace(0, sigma, N_POINTS + 1).round().astype(int))
    if len(losses) < sigma:  # diverged
        guess = 1 / data.n_classes
        curve = np.full(len(ends) - 1, math.nan)
        return Trained(guess, guess, math.nan, True, ends[1:], curve)
    curve = np.array([losses[a:b].mean() for a, b in itertools.pairwise(ends)])
    return Trained(
        accuracy(net, data.test_x, data.test_y),
        accuracy(net, data.validation_x, data.validation_y),
        float(curve[-1]),
        False,
        ends[1:],
        curve,
    )


def _run(
    net: nn.Module,
    optimizer: MomentumSGD,
    data: Images,
    recipe: Recipe,
    rates: np.ndarray,
    seed: int,
    watch: Watch | None,
) -> np.ndarray:
    """Take all steps and return the loss of each, fewer where it stopped being finite."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    per_epoch = len(rates) // recipe.epochs
    losses: list[float] = []
    (group,) = optimizer.param_groups
    net.train()
    for _ in range(recipe.epochs):
        x, y = epoch(data, generator)
        for xb, yb in zip(
            x.split(recipe.batch)[:per_epoch], y.split(recipe.batch)[:per_epoch], strict=True
        ):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(xb), yb)
            if not math.isfinite(value := loss.item()):
                return np.array(losses)
            loss.backward()
            if watch is not None:
                watch(len(losses) + 1, net)
            group["lr"] = rates[len(losses)]
            optimizer.step()
            losses.append(value)
    return np.array(losses)


@torch.no_grad()
def accuracy(net: nn.Module, x: torch.Tensor, y: torch.Tensor, *, batch: int = 500) -> float:
    """Return the share of images that a net (in evaluation mode) labels rightly."""
    was_training = net.training
    net.eval()
    right = sum(
        int((net(xb).argmax(1) == yb).sum())
        for xb, yb in zip(x.split(batch), y.split(batch), strict=True)
    )
    net.train(was_training)
    return right / len(y)


def row(trained: Trained) -> Mapping[str, object]:
    """Return the columns that every table of training runs has."""
    return {
        "accuracy": trained.accuracy,
        "validation": trained.validation,
        "loss": trained.loss,
        "diverged": trained.diverged,
    }
