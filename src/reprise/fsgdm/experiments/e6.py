"""E6 (claim C8): character models of a novel, trained with EMA, Standard and FSGDM.

Every optimizer gets the same grid of learning rates, tried with one extra seed; the best, by the
bits per character on the text from 90% to 95% of the novel, runs with fresh seeds. What counts is
measured on the last 5%, which no choice has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from reprise.datasets import novel
from reprise.fsgdm.optim import FSGDM, MomentumSGD
from reprise.fsgdm.schedules import Schedule, cosine
from reprise.lm import (
    CharLSTM,
    GPTConfig,
    LSTMConfig,
    TinyGPT,
    Vocabulary,
    bits_per_token,
    train,
)

if TYPE_CHECKING:
    from reprise.fsgdm.experiments.configs import E6

_STREAM = 6_000_000  # keeps the streams of this experiment apart from others of the same seed
_LAST = 100  # training bits are the mean of so many last steps


@lru_cache(maxsize=1)
def _text(text: str) -> tuple[Vocabulary, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the vocabulary and the tokens to train on (90%), to tune on (5%), to judge by (5%)."""
    vocabulary = Vocabulary.of(text)
    tokens = vocabulary.encode(text)
    n = len(tokens)
    return (vocabulary, *torch.tensor_split(tokens, (n * 90 // 100, n * 95 // 100)))


def _model(config: E6, n_tokens: int, generator: torch.Generator) -> torch.nn.Module:
    if config.nets[0] == "lstm":
        return CharLSTM(LSTMConfig(n_tokens), generator=generator)
    return TinyGPT(GPTConfig(n_tokens, context=config.length), generator=generator)


def _optimizer(config: E6) -> Callable[[Iterable], torch.optim.Optimizer]:
    lr, span = config.lrs[0], {"sigma": config.steps, "n_stages": config.n_stages}
    if config.optimizers[0] == "FSGDM":
        return lambda parameters: FSGDM(parameters, lr, c=config.c, v=config.v, **span)
    family = {"EMA": "LP", "Standard": "LPG"}[config.optimizers[0]]
    schedule = Schedule(kind="fixed", u=config.u, family=family)
    return lambda parameters: MomentumSGD(parameters, lr, schedule=schedule, **span)


def run(config: E6, seed: int) -> list[dict[str, object]]:
    """Train one model with one optimizer at one learning rate; return one row.

    The seed sets initialisation and batches, the same for all optimizers and learning rates. A run
    that diverges (a loss that is not finite, or an end at more than twice the bits of guessing)
    counts as guessing uniformly, log2 of the number of characters.

    Returns
    -------
    One dict: net, optimizer, lr, phase, seed; bits (last 5% of the text), bits_tuning (the 5%
    before), bits_train (mean of the last 100 steps), all in bits per character; diverged (0 or 1).

    Raises
    ------
    ValueError
        When the config holds more than one net, optimizer or learning rate (see `cells`).
    """
    for name in ("nets", "optimizers", "lrs"):
        if len(getattr(config, name)) != 1:
            raise ValueError(f"`{name}` must hold one value a cell, got {getattr(config, name)}")
    vocabulary, training, tuning, judging = _text(novel())
    model = _model(config, len(vocabulary), torch.Generator().manual_seed(_STREAM + 2 * seed))
    trained = train(
        model,
        training,
        optimizer=_optimizer(config),
        steps=config.steps,
        n_batch=config.batch,
        length=config.length,
        generator=torch.Generator().manual_seed(_STREAM + 2 * seed + 1),
        lr_factor=lambda step: cosine(step + 1, config.steps, config.n_stages),
    )
    found = {
        "bits": bits_per_token(model, judging, length=config.length),
        "bits_tuning": bits_per_token(model, tuning, length=config.length),
        "bits_train": float(trained.bits[-_LAST:].mean()),
    }
    guess = math.log2(len(vocabulary))
    # "not <=" also holds for nan. An LSTM saturates: its loss can explode and stay finite.
    diverged = trained.diverged or not all(bits <= 2 * guess for bits in found.values())
    if diverged:
        found = dict.fromkeys(found, guess)
    return [
        {
            "net": config.nets[0],
            "optimizer": config.optimizers[0],
            "lr": float(config.lrs[0]),
            "phase": config.phase,
            "seed": seed,
            **found,
            "diverged": int(diverged),
        }
    ]


def seeds(cell: E6) -> Iterable[int]:
    """Return the seeds of a cell: the extra one to tune, 0, 1, ... to judge."""
    return [cell.tuning_seed] if cell.phase == "tune" else range(cell.n_seeds)


def cells(config: E6, rows: Sequence[Mapping[str, object]]) -> list[E6]:
    """Return the tuning grid and, for all that is tuned, a cell with the best learning rate."""
    grid, final = [], []
    for net in config.nets:
        for optimizer in config.optimizers:
            one = replace(config, nets=(net,), optimizers=(optimizer,), phase="tune")
            grid += [replace(one, lrs=(lr,)) for lr in config.lrs]
            best = best_lr(rows, net, optimizer, config.lrs)
            if best is not None:
                final.append(replace(one, lrs=(best,), phase="final"))
    return grid + final


def best_lr(
    rows: Sequence[Mapping[str, object]], net: str, optimizer: str, lrs: Sequence[float]
) -> float | None:
    """Return the learning rate with the fewest bits on the tuning text; None: not all are there."""
    tuned = {
        row["lr"]: row["bits_tuning"]
        for row in rows
        if (row["net"], row["optimizer"], row["phase"]) == (net, optimizer, "tune")
    }
    if not set(lrs) <= set(tuned):
        return None
    return min(lrs, key=lambda lr: (tuned[lr], lr))
