"""FSGDM: momentum as a filter in the frequency domain (Li et al., ICLR 2025)."""

from __future__ import annotations

import importlib

_EXPORTS = {
    "FSGDM": "optim",
    "MomentumSGD": "optim",
    "Schedule": "schedules",
    "c_from_gain": "schedules",
    "coefficients": "schedules",
    "fsgdm_u": "schedules",
    "dc_gain": "filters",
    "filter_sequence": "filters",
    "half_power_frequency": "filters",
    "impulse_response": "filters",
    "is_orthodox": "filters",
    "magnitude": "filters",
    "noise_gain": "filters",
    "nyquist_gain": "filters",
    "phase": "filters",
    "transfer": "filters",
    "resnet8": "nets",
    "vgg_mini": "nets",
    "mlp": "nets",
    "power_spectrum": "spectrum",
    "random_directions": "spectrum",
    "share_above": "spectrum",
    "critical_step": "closed_loop",
    "loop_gain": "closed_loop",
    "poles": "closed_loop",
}


def __getattr__(name: str) -> object:
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
