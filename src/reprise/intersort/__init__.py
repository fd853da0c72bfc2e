"""Intersort: causal order from single-variable interventions (Chevalley et al., ICLR 2025)."""

from __future__ import annotations

import importlib

_EXPORTS = {
    "Intersort": "estimator",
    "InterventionalData": "data",
    "all_dags": "graphs",
    "ancestor_matrix": "graphs",
    "d_top": "graphs",
    "erdos_renyi_dag": "graphs",
    "false_negative_rate": "graphs",
    "scale_free_dag": "graphs",
    "topological_order": "graphs",
    "consistent_extension": "baselines",
    "cpdag_to_order": "baselines",
    "ease_order": "baselines",
    "random_order": "baselines",
    "variance_order": "baselines",
    "dcdi_order": "dcdi",
    "choose_eps": "distances",
    "mock_distances": "distances",
    "null_distances": "distances",
    "oracle_distances": "distances",
    "standardize": "distances",
    "wasserstein": "distances",
    "wasserstein_matrix": "distances",
    "wasserstein_stream": "distances",
    "move_gains": "score",
    "order_score": "score",
    "pair_weights": "score",
    "grn_trajectory": "grn",
    "simulate_grn": "grn",
    "iter_scm": "scm",
    "linear_weights": "scm",
    "simulate_scm": "scm",
    "total_effects": "scm",
    "SearchResult": "search",
    "fan_out_order": "search",
    "local_search": "search",
    "sort_ranking": "search",
    "ExactResult": "exact",
    "all_optima": "exact",
    "exact_order_dp": "exact",
    "exact_order_milp": "exact",
    "bound_b0": "theory",
    "bound_diff": "theory",
    "bound_int": "theory",
    "bound_parents": "theory",
    "expected_error": "theory",
    "undecided_edges": "theory",
}


def __getattr__(name: str) -> object:
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
