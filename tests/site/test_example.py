"""The guide's worked example: three cases, three verdicts, and the page shows what is run."""

import inspect

import numpy as np
import pytest
from scipy import stats

from reprise.pipeline.site import example
from reprise.rules import Status


@pytest.mark.parametrize(
    ("case", "status"),
    [*zip(example.CASES, (Status.INCONCLUSIVE, Status.REPRODUCED, Status.NOT_REPRODUCED))],
)
def test_each_case_shows_another_verdict(case, status):
    n_seeds, gain = example.CASES[case]
    estimate, judged = example.verdict(example.accuracies(n_seeds, gain))
    assert judged.status is status
    assert estimate.n == n_seeds


def test_the_interval_is_the_paired_t_interval():
    rows = example.accuracies(12, 0.7, seed=3)
    estimate, _ = example.verdict(rows)
    sides = [rows[rows.method == name].accuracy.to_numpy() for name in ("method", "baseline")]
    theirs = stats.ttest_rel(*sides).confidence_interval(0.95)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(theirs))
    assert estimate.value == pytest.approx(np.mean(sides[0] - sides[1]))


def test_the_page_shows_the_source_that_is_run_and_its_results():
    text = example.worked_example()
    for function in (example.accuracies, example.verdict):
        assert inspect.getsource(function).rstrip() in text
    for n_seeds, gain in example.CASES.values():
        estimate, judged = example.verdict(example.accuracies(n_seeds, gain))
        assert f"| {estimate.text()} |" in text
        assert f"> {judged.status}</span>" in text
    assert text == example.worked_example()
