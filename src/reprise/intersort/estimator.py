"""Intersort (Method 6): from a data set with single-variable interventions to a causal order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reprise.intersort.data import InterventionalData
from reprise.intersort.distances import (
    choose_eps,
    mock_distances,
    null_distances,
    standardize,
    wasserstein_matrix,
)
from reprise.intersort.graphs import positions
from reprise.intersort.score import (
    order_score,
    pair_weights,
    require_at_least_zero,
    require_distances,
    require_targets,
)
from reprise.intersort.search import RULES, fan_out_order, local_search, sort_ranking

if TYPE_CHECKING:
    import pandas as pd

STARTS = ("sort_ranking", "fan_out")
SWEEP_BEYOND = 100
RELEASED_EPS = 0.3  # by which the released code scores moves, whatever its eps
TIE_WEIGHT = 1e-3
NULL_DRAWS = 40


class Intersort:
    """Find a causal order from single-variable interventions.

    Parameters
    ----------
    eps : threshold on distances; "auto" takes the 99% quantile of what chance alone moves: the
        data's mock interventions where there are some, else random observational rows
    c : weight of an exceeded threshold; 0.5 is the paper's score, 0.0 its released code's
    start : "sort_ranking" (the paper's), "fan_out", or an order
    rule : of `local_search`; "auto" is "first" (the paper's) up to 100 variables, "sweep" beyond
    standardize : by mean and standard deviation of the observational rows
    compat_eps_bug : as the released code, score the moves at eps = 0.3 and the start at `eps`;
        for comparisons with it only

    Attributes
    ----------
    order_ : int [d], causes first; `ordered_names_` where the data have names
    score_ : S of the order
    D_, W_ : distances and pair weights, [d, d]
    eps_ : the threshold that was used
    start_ : the order from which the search went
    n_moves_ : moves that the search made
    converged_ : no single move improves the order

    Raises
    ------
    ValueError
        For a parameter that is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> D = np.array([[0, 1.0, 0.5], [0, 0, 0.9], [0, 0, 0]])
    >>> Intersort().fit_distances(D, [0, 1]).order_
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        eps: float | Literal["auto"] = 0.3,
        c: float = 0.5,
        start: str | Sequence[int] = "sort_ranking",
        rule: Literal["auto", "first", "best", "sweep"] = "auto",
        standardize: bool = True,
        compat_eps_bug: bool = False,
    ) -> None:
        if eps != "auto":
            if isinstance(eps, str):
                raise ValueError(f"eps must be a number or 'auto', got {eps!r}")
            require_at_least_zero("eps", eps)
        require_at_least_zero("c", c)
        if isinstance(start, str) and start not in STARTS:
            raise ValueError(
                f"start must be one of {', '.join(STARTS)}, or an order, got {start!r}"
            )
        if rule not in ("auto", *RULES):
            raise ValueError(f"rule must be auto or one of {', '.join(RULES)}, got {rule!r}")
        if compat_eps_bug and rule not in ("auto", "first"):
            raise ValueError(f"compat_eps_bug needs rule 'first', got {rule!r}")
        self.eps, self.c, self.start, self.rule = eps, c, start, rule
        self.standardize, self.compat_eps_bug = standardize, compat_eps_bug

    def fit(
        self,
        data: InterventionalData | Any,
        perturbation: Any = None,
        *,
        control: Any = None,
        tie_order: ArrayLike | None = None,
    ) -> Intersort:
        """Order the variables of a data set; return self.

        Parameters
        ----------
        data : `InterventionalData`; or an array or a DataFrame [n, d] (also an AnnData-like
            object) with `perturbation`
        perturbation : for each row its target: indices with -1 for an array, names for a frame
        control : of `InterventionalData.from_frame`
        tie_order : an order that decides where the score doesn't: the search goes on from its end
            on W + 1e-3 B, B[i, j] = 1 where i precedes j in it. A single move changes the second
            term by at most 1e-3 (d - 1), so it is nearly, not strictly, lexicographic.

        Raises
        ------
        ValueError
            For data that `InterventionalData` refuses, or a tie order that is no permutation.
        """
        if not isinstance(data, InterventionalData):
            if perturbation is None:
                raise ValueError("perturbation must name the target of each row, got None")
            if isinstance(data, np.ndarray):
                data = InterventionalData(data, np.asarray(perturbation))
            else:
                data = InterventionalData.from_frame(data, perturbation, control=control)
        if tie_order is not None:
            positions(tie_order, data.X.shape[1])
        if self.standardize:
            data = standardize(data)
        self.names_ = data.names
        eps = self._chosen(data) if self.eps == "auto" else float(self.eps)
        return self._search(wasserstein_matrix(data), data.targets, eps, tie_order)

    def fit_distances(
        self, D: ArrayLike, targets: ArrayLike | None = None, *, tie_order: ArrayLike | None = None
    ) -> Intersort:
        """Order the variables by given distances; return self.

        Parameters
        ----------
        D : [d, d], >= 0; rows of variables that are no target are taken for 0
        targets : indices; None: all
        tie_order : as in `fit`

        Raises
        ------
        ValueError
            For what `pair_weights` refuses, eps="auto", or a tie order that is no permutation.
        """
        if self.eps == "auto":
            raise ValueError("eps must be a number where there are no data, got 'auto'")
        self.names_ = None
        return self._search(D, targets, float(self.eps), tie_order)

    def _chosen(self, data: InterventionalData) -> float:
        if data.mock:
            return choose_eps(mock_distances(data))
        counts = np.bincount(data.target[data.target >= 0])
        if not counts.size:
            raise ValueError("eps must be a number where nothing was intervened on, got 'auto'")
        X_obs = data.observational
        n_int = min(int(np.median(counts[counts > 0])), len(X_obs) - 1)
        rng = np.random.default_rng(0)
        return choose_eps(null_distances(X_obs, n_int, NULL_DRAWS, rng=rng))

    def _search(
        self, D: ArrayLike, targets: ArrayLike | None, eps: float, tie_order: ArrayLike | None
    ) -> Intersort:
        D = require_distances(D)
        d = len(D)
        W = pair_weights(D, targets, eps=eps, c=self.c)
        rows = require_targets(targets, d)
        known = np.zeros((d, d))
        known[rows] = D[rows]
        np.fill_diagonal(known, 0.0)
        place = None if tie_order is None else positions(tie_order, d)
        if isinstance(self.start, str):
            begin = {"sort_ranking": sort_ranking, "fan_out": fan_out_order}[self.start]
            start = begin(known, eps=eps)
        else:
            start = np.asarray(self.start)
            positions(start, d)
        rule = ("sweep" if d > SWEEP_BEYOND else "first") if self.rule == "auto" else self.rule
        if self.compat_eps_bug:
            moves = pair_weights(D, targets, eps=RELEASED_EPS, c=self.c)
            found = local_search(start, moves, rule="first", W_start=W)
        else:
            moves = W
            found = local_search(start, W, rule=rule)
        n_moves = found.n_moves
        if place is not None:
            ties = (place[:, None] < place[None, :]).astype(np.float64)
            found = local_search(found.order, moves + TIE_WEIGHT * ties, rule=rule)
            n_moves += found.n_moves
        self.eps_, self.D_, self.W_, self.start_ = eps, known, W, start
        self.order_, self.n_moves_, self.converged_ = found.order, n_moves, found.converged
        self.score_, self.targets_ = order_score(found.order, W), rows
        return self

    @property
    def ordered_names_(self) -> list[str]:
        """The variables in order, by name; by index where the data have none."""
        return [self._name(i) for i in self.order_]

    def report(self) -> pd.DataFrame:
        """Return the pairs that decided the order: those whose distance exceeds the threshold.

        Returns
        -------
        One row per pair, largest distance first: `cause`, `effect`, `distance`, `reverse` (the
        distance the other way; nan where the effect is no target), `worth` (what S would lose,
        or win where negative, if only the pair were turned), `respected` (the cause stands
        before the effect).
        """
        import pandas as pd

        place = positions(self.order_)
        causes, effects = np.nonzero(self.eps_ < self.D_)
        by = np.argsort(-self.D_[causes, effects], kind="stable")
        causes, effects = causes[by], effects[by]
        respected = place[causes] < place[effects]
        worth = self.W_[causes, effects] - self.W_[effects, causes]
        target = np.isin(effects, self.targets_)
        return pd.DataFrame(
            {
                "cause": [self._name(i) for i in causes],
                "effect": [self._name(j) for j in effects],
                "distance": self.D_[causes, effects],
                "reverse": np.where(target, self.D_[effects, causes], np.nan),
                "worth": np.where(respected, worth, -worth),
                "respected": respected,
            }
        )

    def _name(self, i: int) -> str:
        return str(int(i)) if self.names_ is None else self.names_[i]
