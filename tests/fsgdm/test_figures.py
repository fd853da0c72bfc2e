"""Made-up tables of the shapes that the quick and the full profile make."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from reprise import style
from reprise.fsgdm import figures, responses, summaries
from reprise.style import svg

OPTIMIZERS = ("EMA", "Standard", "FSGDM")
FAMILIES = ("LP", "HP", "LPG", "HPG")


def words(text: str) -> str:
    """Return what a reader can read in an SVG."""
    return " ".join("".join(t.itertext()) for t in ET.fromstring(text).iter() if "text" in t.tag)


def trained(keys: list[dict], n_seeds: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {
                **key,
                "seed": s,
                "accuracy": a,
                "validation": a,
                "loss": 1.0 - a,
                "diverged": 0,
            }
            for key in keys
            for s in range(n_seeds)
            for a in [rng.uniform(0.6, 0.95)]
        ]
    )


def e2(n_problems: int) -> pd.DataFrame:
    keys = [
        {"problem": p, "net": "resnet8", "optimizer": o, "step": 300}
        for p in ("fashion", "mnist", "digits")[:n_problems]
        for o in OPTIMIZERS
    ]
    last = trained(keys, 3)
    early = [
        last.assign(step=step, accuracy=np.nan, validation=np.nan, loss=2.0)
        for step in (5, 100, 200)
    ]
    return pd.concat([*early, last], ignore_index=True)


def e3(full: bool) -> pd.DataFrame:
    values = {"rising": (0.00085, 0.0085, 0.085), "fixed": (0.3, 0.6, 0.9)}
    values["falling"] = values["rising"]
    if full:
        systems = [(f, q, v) for f in FAMILIES for q in values for v in values[q]]
    else:
        systems = [(f, q, 0.0085) for f in ("LP", "LPG") for q in ("rising", "falling")]
        systems += [(f, "fixed", 0.9) for f in ("HP", "LP", "LPG")]
    keys = [
        {"problem": "fashion", "net": n, "family": f, "sequence": q, "value": v}
        for n in (("resnet8", "vgg_mini") if full else ("resnet8",))
        for f, q, v in systems
    ]
    return trained(keys, 3)


def e4() -> pd.DataFrame:
    tune = [{"optimizer": o, "lr": r, "phase": "tune"} for o in OPTIMIZERS for r in (0.01, 0.1, 1)]
    final = [{"optimizer": o, "lr": 0.1, "phase": "final"} for o in OPTIMIZERS]
    return pd.concat([trained(tune, 3), trained(final, 4)], ignore_index=True)


def e5(full: bool) -> pd.DataFrame:
    cs = (0.0033, 0.01, 0.033, 0.1, 0.33) if full else (0.0033, 0.033, 0.33)
    vs = (0.1, 0.3, 1.0, 3.0, 10.0) if full else (0.1, 1.0, 10.0)
    keys = [
        {"problem": p, "net": "resnet8", "c": c, "v": v}
        for p in (("digits", "mnist") if full else ("digits",))
        for c in cs
        for v in vs
    ]
    return trained(keys, 3)


def e6() -> pd.DataFrame:
    keys = [
        {"net": n, "optimizer": o, "lr": 0.1, "phase": phase}
        for n in ("lstm", "transformer")
        for o in OPTIMIZERS
        for phase in ("tune", "final")
    ]
    rows = trained(keys, 3)
    return rows.assign(bits=3 - rows.accuracy)


def e7() -> pd.DataFrame:
    keys = [
        {"task": "InvertedDoublePendulum-v5", "optimizer": o, "lr": 0.1, "phase": "final"}
        for o in ("FSGDM", "Standard", "Adam")
    ]
    rows = trained(keys, 3)
    return rows.assign(last_return=9000 * rows.accuracy)


def b1() -> pd.DataFrame:
    arms = ("Standard", "FSGDM", "Standard as FSGDM", "FSGDM as Standard")
    return trained([{"arm": arm} for arm in arms], 3)


def b2() -> pd.DataFrame:
    keys = [
        {"optimizer": o, "part": part, "frequency": w}
        for o in ("Standard", "FSGDM")
        for part in ("early", "middle", "late")
        for w in np.linspace(0, np.pi, 9)
    ]
    rows = trained(keys, 3)
    return rows.assign(power=1e-4 * rows.accuracy, above_half_power=0.9)


def e1() -> pd.DataFrame:
    rows = [
        {"coupling": coupling, "u": u, "omega": w, "gain": 1.0, "measured": 1.0}
        for coupling in ("orthodox", "unorthodox")
        for u in (-0.9, 0.0, 0.9)
        for w in (0.0, np.pi / 2, np.pi)
    ]
    return pd.DataFrame(rows)


# --- a drawing of each figure, from its table ---------------------------------------------------


def key(_: object = None):
    fig, axes = style.figure(height=4.2, ncols=3, sharex=True, sharey=True)
    figures.frequency_responses(responses.frequency_responses(), axes)
    return fig


def families(_: object = None):
    fig, axes = style.figure(nrows=2, ncols=2, sharex=True)
    figures.families(responses.toy_gradient(), axes)
    return fig


def loop(_: object = None):
    fig, ax = style.figure()
    figures.closed_loop(responses.closed_loop(), ax)
    return fig


def gains(rows: pd.DataFrame | None):
    fig, axes = style.figure(ncols=2, sharex=True, sharey=True)
    curves = None if rows is None else responses.gain_curves(rows)
    figures.measured_gains(rows, curves, axes)
    return fig


def three(rows: pd.DataFrame | None):
    runs = summaries.runs(rows)
    fig, axes = style.figure(**figures.three_shape(runs))
    means = summaries.means(runs, ["problem", "optimizer"])
    title = summaries.three_title(rows)
    figures.three_optimizers(runs, means, summaries.losses(rows), axes, title=title)
    return fig


def study(rows: pd.DataFrame | None):
    frame = summaries.study(rows)
    fig, axes = style.figure(**figures.study_shape(frame))
    figures.study(frame, axes, title=summaries.study_title(rows))
    return fig


def tuned(rows: pd.DataFrame | None):
    fig, ax = style.figure()
    figures.tuned(summaries.tuned(rows), ax, title=summaries.tuned_title(rows))
    return fig


def plane(rows: pd.DataFrame | None):
    frame = summaries.plane(rows)
    n = 1 if frame is None else frame.problem.nunique()
    fig, axes = style.figure(ncols=n, sharey=True, squeeze=False)
    figures.plane(frame, axes, title=summaries.plane_title(rows))
    return fig


def language(rows: tuple[pd.DataFrame | None, pd.DataFrame | None]):
    bits, returns = (summaries.final(r) for r in rows)
    fig, axes = style.figure(ncols=2)
    figures.language_and_control(
        bits,
        summaries.means(bits, ["net", "optimizer"], "bits"),
        returns,
        summaries.means(returns, ["task", "optimizer"], "last_return"),
        axes,
        title=summaries.language_title(*rows),
    )
    return fig


def control(rows: pd.DataFrame | None):
    runs = summaries.control(rows)
    fig, axes = style.figure(ncols=2)
    means = summaries.means(runs, ["momentum", "rate"])
    title = summaries.control_title(rows)
    figures.control(responses.effective_rates(), runs, means, axes, title=title)
    return fig


def spectra(rows: pd.DataFrame | None):
    fig, axes = style.figure(ncols=2, sharey=True)
    figures.spectra(summaries.spectra(rows), axes, title=summaries.spectra_title(rows))
    return fig


DRAWN = {
    "key": (key, None),
    "families": (families, None),
    "loop": (loop, None),
    "gains": (gains, e1()),
    "three quick": (three, e2(1)),
    "three full": (three, e2(3)),
    "study quick": (study, e3(full=False)),
    "study full": (study, e3(full=True)),
    "tuned": (tuned, e4()),
    "plane quick": (plane, e5(full=False)),
    "plane full": (plane, e5(full=True)),
    "language": (language, (e6(), e7())),
    "control": (control, b1()),
    "spectra": (spectra, b2()),
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_draws_its_quick_and_its_full_table_light_enough_for_a_page(name):
    draw, rows = DRAWN[name]
    text = svg(draw(rows))
    ET.fromstring(text)
    assert len(text) < 250_000
    assert "nan" not in words(text)
    assert not re.search(r"(?i)(fill|stroke): ?#(000000|ffffff)", text)


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_is_drawn_outside_its_figure(name):
    draw, rows = DRAWN[name]
    fig = draw(rows)
    svg(fig)
    box = fig.get_tightbbox()
    width, height = fig.get_size_inches()
    assert box.x0 >= -0.06
    assert box.y0 >= -0.06
    assert box.x1 <= width + 0.06
    assert box.y1 <= height + 0.06


@pytest.mark.parametrize("draw", [gains, three, study, tuned, plane, spectra])
def test_a_table_that_does_not_exist_yet_leaves_a_strip_that_says_so(draw):
    fig = draw(None)
    assert "not yet" in words(svg(fig))
    assert fig.get_figheight() < 2


def test_one_of_two_missing_tables_leaves_the_other_drawn():
    text = words(svg(language((e6(), None))))
    assert "not yet" in text
    assert "Transformer" in text


def test_the_control_shows_the_rates_before_its_table_exists():
    text = words(svg(control(None)))
    assert "not yet" in text
    assert "effective learning rate" in text


def test_the_key_figure_has_a_curve_per_stage_the_gains_and_the_half_power_periods():
    fig = key()
    text = words(svg(fig))
    curves = [line for line in fig.axes[2].lines if len(line.get_xdata()) > 50]
    assert len(curves) == 31
    for found in ("×1", "×10", "end ×31", "60 steps", "194 steps"):
        assert found in re.sub(" +", " ", text)


def test_the_study_marks_what_is_known_of_the_paper_and_nothing_else():
    fig = study(e3(full=True))
    marks = [line for line in fig.axes[-1].lines if line.get_marker() == "o"]
    points = sorted(line.get_xdata()[0] for line in marks)
    assert points == [53.43, 69.69, 77.12, 80.48]


def test_the_plane_has_a_line_of_equal_final_gain_on_each_map():
    frame = summaries.plane(e5(full=True))
    _, axes = style.figure(ncols=2, sharey=True)
    figures.plane(frame, axes)
    for ax in axes:
        lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
        assert lines, "no line of equal final gain"


def test_figures_leave_their_tables_alone():
    rows = e3(full=False)
    before = rows.copy()
    study(rows)
    pd.testing.assert_frame_equal(rows, before)


def test_three_optimizers_say_how_many_plots_their_problems_need():
    rows = e2(3)
    runs = summaries.runs(rows)
    _, axes = style.figure(nrows=2)
    with pytest.raises(ValueError, match="6 plots for 3 problems, got 2"):
        figures.three_optimizers(
            runs, summaries.means(runs, ["problem", "optimizer"]), summaries.losses(rows), axes
        )
