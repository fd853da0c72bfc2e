"""What an experiment with single-variable interventions leaves: rows, and who was intervened on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

OBSERVATIONAL = -1


@dataclass(frozen=True, eq=False)
class InterventionalData:
    """Observational rows, and rows of each target from do(X_target).

    Attributes
    ----------
    X : float64 [n, d], a row per sample
    target : int [n], -1 for an observational row, else the index of the intervened variable
    mock : batches [n_int, d] of further observational rows drawn as if for a target
        (non-targeting controls): what the distances are when nothing was done
    names : of the variables; None: they have none

    Raises
    ------
    ValueError
        For shapes that don't fit, a target outside [-1, d), fewer than 2 observational rows, or a
        value that isn't finite (names row and column).
    """

    X: NDArray[np.float64]
    target: NDArray[np.intp]
    mock: tuple[NDArray[np.float64], ...] = ()
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        X = require_rows("X", self.X)
        target = np.asarray(self.target)
        if target.shape != (len(X),):
            raise ValueError(f"target must hold one entry a row, {len(X)}, got {target.shape}")
        if not np.issubdtype(target.dtype, np.integer):
            raise ValueError(f"target must hold integers, got {target.dtype}")
        d = X.shape[1]
        if (outside := (target < OBSERVATIONAL) | (target >= d)).any():
            row = int(np.flatnonzero(outside)[0])
            raise ValueError(f"target must be in -1..{d - 1}, got {target[row]} in row {row}")
        if (n := int((target == OBSERVATIONAL).sum())) < 2:
            raise ValueError(f"there must be at least 2 observational rows (target -1), got {n}")
        mock = tuple(require_rows("mock", batch, d) for batch in self.mock)
        if self.names is not None and len(self.names) != d:
            raise ValueError(f"names must be {d}, got {len(self.names)}")
        for name, value in (("X", X), ("target", target.astype(np.intp)), ("mock", mock)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_frame(
        cls, frame: Any, perturbation: Sequence[Any] | ArrayLike, *, control: Any = None
    ) -> InterventionalData:
        """Return the data of a DataFrame, or of anything with `X`, `var_names` and `obs`.

        Parameters
        ----------
        frame : pandas DataFrame, a column per variable; or an AnnData-like object
        perturbation : for each row the name of the intervened column, or `control`; for an
            AnnData-like object also the name of a column of its `obs`
        control : what marks an observational row; missing values do so too

        Raises
        ------
        ValueError
            For a perturbation that is neither `control` nor a column.
        """
        import pandas as pd

        if isinstance(frame, pd.DataFrame):
            names, X = frame.columns, frame.to_numpy(dtype=np.float64)
        else:
            names, X = frame.var_names, frame.X
            X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
            if isinstance(perturbation, str):
                perturbation = frame.obs[perturbation]
        names = tuple(map(str, names))
        index = {name: i for i, name in enumerate(names)}
        if len(index) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"frame must name each variable once, got {twice!r} twice")
        target = []
        for row, value in enumerate(pd.Series(perturbation).tolist()):
            if pd.isna(value) or value == control:
                target.append(OBSERVATIONAL)
            elif str(value) in index:
                target.append(index[str(value)])
            else:
                raise ValueError(
                    f"perturbation must be a column or {control!r}, got {value!r} in row {row}"
                )
        return cls(X, np.array(target, dtype=np.intp), names=names)

    @property
    def targets(self) -> NDArray[np.intp]:
        """The intervened variables, sorted."""
        found = np.unique(self.target)
        return found[found >= 0]

    @property
    def observational(self) -> NDArray[np.float64]:
        """The observational rows, [n_obs, d]."""
        return self.X[self.target == OBSERVATIONAL]

    def rows(self, target: int) -> NDArray[np.float64]:
        """Return the rows of one target, [n_int, d]."""
        return self.X[self.target == target]

    def restrict(self, targets: Iterable[int]) -> InterventionalData:
        """Return the data without the rows of other targets.

        Raises
        ------
        ValueError
            For a variable that was never a target.
        """
        wanted = [int(t) for t in targets]
        known = set(self.targets.tolist())
        for target in wanted:
            if target not in known:
                raise ValueError(f"targets must have rows, got {target}, which was never one")
        kept = np.isin(self.target, [OBSERVATIONAL, *wanted])
        return replace(self, X=self.X[kept], target=self.target[kept])


def require_rows(name: str, X: ArrayLike, d: int | None = None) -> NDArray[np.float64]:
    """Return X as float64 [n, d], or raise `ValueError`."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] == 0 or (d is not None and X.shape[1] != d):
        want = "[rows, variables]" if d is None else f"[rows, {d}]"
        raise ValueError(f"{name} must be {want}, got shape {X.shape}")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"{name} must be finite, got {X[row, column]} in row {row}, column {column}"
        )
    return X
