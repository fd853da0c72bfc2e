"""DCDI-G: differentiable causal discovery from interventions, with Gaussian conditionals.

Each variable has a network from its masked possible causes to a Gaussian's mean and log-scale. A
mask is drawn per sample, an edge with probability sigmoid(logit). A row under do(k) says nothing
of how k comes about, and so k's likelihood is left out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from reprise.intersort.data import InterventionalData
from reprise.intersort.score import require_at_least_zero
from reprise.intersort.search import sort_ranking

LEAK = 0.25
LARGEST_LOG_SCALE = 5.0


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes
    ----------
    n_fit : steps without the acyclicity term; with it from the start all edges vanish
    n_most : steps with it, at most
    every : after so many steps the multipliers move
    mu : penalty at first; doubled each time
    acyclic : h below which the graph counts as acyclic
    batch : rows of a step
    rate, logit_rate : learning rates of the networks and of the edges, which must be faster
    """

    n_fit: int = 2500
    n_most: int = 4500
    every: int = 150
    mu: float = 1e-4
    acyclic: float = 0.05
    batch: int = 256
    rate: float = 1e-3
    logit_rate: float = 1e-2


class Conditionals(nn.Module):
    """The networks of all variables, two hidden layers each, evaluated together."""

    def __init__(self, d: int, *, width: int = 16, generator: torch.Generator) -> None:
        super().__init__()

        def layer(inputs: int, outputs: int, factor: float = 1.0) -> nn.Parameter:
            draw = torch.randn(d, inputs, outputs, generator=generator)
            return nn.Parameter(draw * factor * (2 / inputs) ** 0.5)

        self.weights = nn.ParameterList(
            [layer(d, width), layer(width, width), layer(width, 2, 0.1)]
        )
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(d, k)) for k in (width, width, 2)])
        self.logits = nn.Parameter(torch.ones(d, d))
        self.register_buffer("off", 1 - torch.eye(d))

    def edges(self) -> torch.Tensor:
        """Return the probability of each edge i -> j, [d, d]."""
        return torch.sigmoid(self.logits) * self.off

    def mask(self, n: int, generator: torch.Generator) -> torch.Tensor:
        """Return n graphs, [n, d, d]: 0/1 forward, the relaxed sample's gradient backward."""
        u = torch.rand(n, *self.logits.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid(self.logits + torch.log(u) - torch.log1p(-u))
        hard = (soft > 0.5).to(soft.dtype)
        return (hard + soft - soft.detach()) * self.off

    def log_likelihood(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return log p(x_j | masked x), [n, d], without the constant."""
        h = torch.einsum("ni,nij,jik->njk", x, mask, self.weights[0]) + self.biases[0]
        h = nn.functional.leaky_relu(h, LEAK)
        h = torch.einsum("njk,jkl->njl", h, self.weights[1]) + self.biases[1]
        h = nn.functional.leaky_relu(h, LEAK)
        out = torch.einsum("njk,jkl->njl", h, self.weights[2]) + self.biases[2]
        log_scale = out[..., 1].clamp(-LARGEST_LOG_SCALE, LARGEST_LOG_SCALE)
        return -0.5 * ((x - out[..., 0]) / log_scale.exp()) ** 2 - log_scale


def acyclicity(edges: torch.Tensor) -> torch.Tensor:
    """Return h = tr exp(edges) - d, which is 0 for a DAG alone."""
    return torch.trace(torch.matrix_exp(edges)) - len(edges)


def fit_dcdi(
    data: InterventionalData,
    *,
    lam: float = 0.03,
    schedule: Schedule | None = None,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the learnt probability of each edge i -> j, [d, d].

    Parameters
    ----------
    data : standardised
    lam : penalty of an expected edge, >= 0
    schedule : None: the default one
    rng : source of randomness

    Raises
    ------
    ValueError
        For a negative lam.
    """
    require_at_least_zero("lam", lam)
    plan = schedule or Schedule()
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    X = torch.from_numpy(data.X.astype(np.float32))
    # 1 where a row tells how its variable comes about.
    told = torch.from_numpy(data.target[:, None] != np.arange(data.X.shape[1])).float()
    model = Conditionals(X.shape[1], generator=generator)
    optimizer = torch.optim.RMSprop(
        [
            {"params": [*model.weights, *model.biases], "lr": plan.rate},
            {"params": [model.logits], "lr": plan.logit_rate},
        ]
    )
    gamma, mu = 0.0, 0.0
    for step in range(plan.n_fit + plan.n_most):
        since = step - plan.n_fit
        if since >= 0 and since % plan.every == 0:
            h = float(acyclicity(model.edges().detach()))
            if h < plan.acyclic:
                break
            gamma, mu = gamma + mu * h, (2 * mu if since else plan.mu)
        rows = torch.randint(len(X), (plan.batch,), generator=generator)
        likelihood = model.log_likelihood(X[rows], model.mask(plan.batch, generator))
        loss = -(likelihood * told[rows]).sum(dim=1).mean() + lam * model.edges().sum()
        if since >= 0:
            cycles = acyclicity(model.edges())
            loss = loss + gamma * cycles + mu / 2 * cycles**2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.edges().detach().numpy().astype(np.float64)


def dcdi_order(
    data: InterventionalData,
    *,
    lam: float = 0.03,
    schedule: Schedule | None = None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Return an order of DCDI-G's graph: edges likelier than not, the likeliest first, no cycles.

    Parameters and errors are those of `fit_dcdi`.
    """
    return sort_ranking(fit_dcdi(data, lam=lam, schedule=schedule, rng=rng), eps=0.5)
