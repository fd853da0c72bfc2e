"""E7 (claim C9): PPO with Adam replaced by a momentum method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reprise.fsgdm.optim import FSGDM, MomentumSGD
from reprise.fsgdm.systems import three

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E7

TUNING_SEED = 99
ADAM_LR = 3e-4  # PPO's usual setting; shown, not tuned
ROLLOUT, BATCH, EPOCHS = 2048, 64, 10
LAST = 20  # training episodes at the end that are averaged


def _optimizer(name: str, sigma: int, c: float, v: float) -> tuple[type, dict[str, object]]:
    import torch

    if name == "Adam":
        return torch.optim.Adam, {"eps": 1e-5}
    if name == "FSGDM":
        return FSGDM, {"sigma": sigma, "n_stages": 300, "c": c, "v": v}
    schedule, first_step = three(name)
    return MomentumSGD, {"schedule": schedule, "sigma": sigma, "first_step": first_step}


def run(config: E7, seed: int) -> list[dict[str, object]]:
    """Train an agent per optimizer and learning rate; one row with its last training returns."""
    return [_train(config, name, lr, seed) for name in config.optimizers for lr in config.lrs]


def _train(config: E7, name: str, lr: float, seed: int) -> dict[str, object]:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    sigma = config.n_rollouts * EPOCHS * (ROLLOUT // BATCH)
    kind, options = _optimizer(name, sigma, config.c, config.v)
    env = make_vec_env(config.task, n_envs=1, seed=seed)
    agent = PPO(
        "MlpPolicy", env, learning_rate=lr, n_steps=ROLLOUT, batch_size=BATCH, n_epochs=EPOCHS,
        policy_kwargs={"optimizer_class": kind, "optimizer_kwargs": options},
        seed=seed, device="cpu", stats_window_size=LAST,
    )  # fmt: skip
    diverged = False
    try:
        agent.learn(config.n_rollouts * ROLLOUT)
    except ValueError as error:
        # Means that aren't finite, or a spread of 0 or infinity, don't make a distribution.
        if "found invalid values" not in str(error):
            raise
        diverged = True
    returns = [episode["r"] for episode in agent.ep_info_buffer]
    env.close()
    return {
        "task": config.task,
        "optimizer": name,
        "lr": lr,
        "phase": config.phase,
        "seed": seed,
        "last_return": 0.0 if diverged or not returns else float(np.mean(returns)),
        "diverged": diverged,
    }


def best_lr(
    rows: Sequence[Mapping[str, object]], optimizer: str, lrs: Sequence[float]
) -> float | None:
    """Return the learning rate of the best tuning return; None while one is missing."""
    tuned = {
        r["lr"]: r["last_return"]
        for r in rows
        if r["optimizer"] == optimizer and r["phase"] == "tune"
    }
    if not set(lrs) <= set(tuned):
        return None
    return min(lrs, key=lambda lr: (-tuned[lr], lr))


def cells(config: E7, rows: Sequence[Mapping[str, object]]) -> list[E7]:
    """Return the tuning grid and, for what is tuned, a cell of seeds at the best rate."""
    found = []
    for name in config.optimizers:
        one = replace(config, optimizers=(name,))
        if name == "Adam":
            found.append(replace(one, lrs=(ADAM_LR,), phase="final"))
            continue
        found += [replace(one, lrs=(lr,), phase="tune", n_seeds=1) for lr in config.lrs]
        best = best_lr(rows, name, config.lrs)
        if best is not None:
            found.append(replace(one, lrs=(best,), phase="final"))
    return found


def seeds(cell: E7) -> Iterable[int]:
    """Return the extra seed to tune, 0, 1, ... to judge."""
    return [TUNING_SEED] if cell.phase == "tune" else range(cell.n_seeds)
