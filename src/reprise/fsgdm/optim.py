"""Momentum SGD whose coefficients follow a schedule, and FSGDM."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import torch
from torch import Tensor

from reprise.fsgdm.schedules import Schedule, c_from_gain, coefficients

FirstStep = Literal["scaled", "gradient"]


class MomentumSGD(torch.optim.Optimizer):
    """SGD with `m = u_t m + v_t g`, `x -= lr m` (Method 1), g with L2 weight decay in it.

    Parameters
    ----------
    params : parameters or groups, as for any torch optimizer
    lr : learning rate, >= 0
    schedule : the momentum system
    sigma : number of steps of the whole training
    n_stages : number of stages with constant coefficients
    weight_decay : coupled L2, >= 0: added to the gradient before the filter
    first_step : what a parameter's first buffer is: "scaled" v_1 g (a zero buffer before) or
        "gradient" g (as the released FSGDM); they differ where v_1 is not 1

    Raises
    ------
    ValueError
        For lr or weight_decay < 0, sigma < n_stages, n_stages < 1, an unknown `first_step`;
        in `step`, for a sparse gradient.

    Notes
    -----
    The step counter is one for all groups and part of `state_dict()`: a run that is loaded in the
    middle continues as if it had never stopped.
    The schedule is not in it, it comes from the constructor: copy an optimizer by making a new one
    and loading its `state_dict()`. `copy.deepcopy` and `pickle` keep only what torch's base class
    keeps, without the schedule.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float,
        *,
        schedule: Schedule,
        sigma: int,
        n_stages: int = 300,
        weight_decay: float = 0.0,
        first_step: FirstStep = "scaled",
    ) -> None:
        if not lr >= 0:
            raise ValueError(f"`lr` must not be negative, got {lr}")
        if not weight_decay >= 0:
            raise ValueError(f"`weight_decay` must not be negative, got {weight_decay}")
        if first_step not in ("scaled", "gradient"):
            raise ValueError(f"`first_step` must be 'scaled' or 'gradient', got {first_step!r}")
        coefficients(schedule, 1, sigma, n_stages)  # checks sigma and n_stages
        self.schedule, self.sigma, self.n_stages = schedule, sigma, n_stages
        self.first_step = first_step
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.state["t"] = 0

    @property
    def t(self) -> int:
        """Number of steps taken so far."""
        return self.state["t"]

    def coefficients(self) -> tuple[float, float]:
        """Return (u_t, v_t) of the next step."""
        u, v = coefficients(self.schedule, self.t + 1, self.sigma, self.n_stages)
        return float(u), float(v)

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Take one step; with a closure, evaluate it first and return its loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        u, v = self.coefficients()
        for group in self.param_groups:
            self._step_group(group, u, v)
        self.state["t"] += 1
        return loss

    def _step_group(self, group: dict, u: float, v: float) -> None:
        params = [p for p in group["params"] if p.grad is not None]
        if not params:
            return
        grads = [p.grad for p in params]
        if any(grad.is_sparse for grad in grads):
            raise ValueError("`params`: sparse gradients are not supported; use dense ones")
        if group["weight_decay"]:
            grads = torch._foreach_add(grads, params, alpha=group["weight_decay"])
        state = self.state
        buffers = [state[p].get("momentum_buffer") for p in params]
        if any(buffer is None for buffer in buffers):
            buffers = self._start(params, grads, buffers, u, v)
        else:
            torch._foreach_mul_(buffers, u)
            torch._foreach_add_(buffers, grads, alpha=v)
        torch._foreach_add_(params, buffers, alpha=-group["lr"])

    def _start(
        self, params: list[Tensor], grads: list[Tensor], buffers: list, u: float, v: float
    ) -> list[Tensor]:
        """Advance the buffers that exist and make those that don't yet."""
        scale = 1.0 if self.first_step == "gradient" else v
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            if buffers[i] is None:
                buffers[i] = self.state[param]["momentum_buffer"] = grad.detach() * scale
            else:
                buffers[i].mul_(u).add_(grad, alpha=v)
        return buffers


class FSGDM(MomentumSGD):
    """Frequency SGD with momentum: u rises from 0 by stages, v is constant (Method 3).

    `u_t = tau / (tau + c Sigma)` with tau the start of the stage: plain SGD in the first stage, a
    low-frequency gain of v (1 + 1/c) at the end.

    Parameters
    ----------
    params, lr, weight_decay : as `MomentumSGD`
    sigma : number of steps of the whole training
    n_stages : number of stages (the paper: one per epoch, 300)
    c, v : the paper's setting everywhere is c = 0.033, v = 1
    first_step : "gradient" as the release

    Raises
    ------
    ValueError
        For c <= 0 or v <= 0, and as `MomentumSGD`.
    """

    def __init__(
        self,
        params: Iterable,
        lr: float,
        *,
        sigma: int,
        n_stages: int,
        c: float = 0.033,
        v: float = 1.0,
        weight_decay: float = 0.0,
        first_step: FirstStep = "gradient",
    ) -> None:
        if not c > 0:
            raise ValueError(f"`c` must be positive, got {c}")
        super().__init__(
            params,
            lr,
            schedule=Schedule("rising", mu=c, family="LPG", v=v),
            sigma=sigma,
            n_stages=n_stages,
            weight_decay=weight_decay,
            first_step=first_step,
        )

    @classmethod
    def from_training(
        cls,
        params: Iterable | torch.nn.Module,
        lr: float = 0.1,
        *,
        epochs: int,
        steps_per_epoch: int,
        final_gain: float = 31.0,
        v: float = 1.0,
        n_stages: int | None = None,
        weight_decay: float = 0.0,
    ) -> FSGDM:
        """Make an FSGDM from what a training script knows, without computing Sigma or c by hand.

        Parameters
        ----------
        params : a module, or parameters
        epochs, steps_per_epoch : their product is Sigma
        final_gain : low-frequency gain at the end of training; c = v / (final_gain - v)
        n_stages : default one stage per epoch, as the paper; 300 when there are fewer epochs than
            that and steps enough

        Raises
        ------
        ValueError
            For epochs or steps_per_epoch < 1, or final_gain <= v.
        """
        for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, got {value}")
        sigma = epochs * steps_per_epoch
        if isinstance(params, torch.nn.Module):
            params = params.parameters()
        return cls(
            params,
            lr,
            sigma=sigma,
            n_stages=n_stages or max(epochs, min(300, sigma)),
            c=c_from_gain(final_gain, v),
            v=v,
            weight_decay=weight_decay,
        )
