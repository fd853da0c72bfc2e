from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

from reprise import style
from reprise.style import svg


def _luminance(colour: object) -> float:
    c = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a: object, b: object) -> float:
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def some_figure():
    fig, ax = style.figure(height=2.0)
    ax.plot([0, 1], [0, 1], color=style.METHOD)
    ax.set_xlabel("steps")
    return fig, ax


PAPERS = [style.LIGHT[1], style.DARK[1]]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_data_colour_holds_3_to_1_on_both_papers(paper):
    colours = [style.METHOD, *style.BASELINES, style.PAPER_VALUE]
    colours += [style.PROGRESS(x) for x in np.linspace(0, 1, 101)]
    for colour in colours:
        assert contrast(colour, paper) >= 3, colour


@pytest.mark.parametrize(("ink", "paper"), [style.LIGHT, style.DARK])
def test_ink_is_readable_on_its_paper_and_on_the_fullest_cell_of_a_heat_map(ink, paper):
    assert contrast(ink, paper) >= 7
    *rgb, alpha = style.HEAT(1.0)
    cell = alpha * np.array(rgb) + (1 - alpha) * np.array(mpl.colors.to_rgb(paper))
    assert contrast(ink, cell) >= 4.5


def test_method_and_baselines_stay_apart_for_colour_blind_readers():
    # Machado et al. (2009), severity 1: deuteranopia and protanopia, on linear RGB.
    simulate = {
        "deuteranopia": [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        "protanopia": [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    }
    three = [style.METHOD, *style.BASELINES[:2]]
    rgb = np.array([mpl.colors.to_rgb(c) for c in three]) ** 2.2
    for matrix in simulate.values():
        seen = np.clip(rgb @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        for i in range(3):
            for j in range(i):
                assert np.abs(seen[i] - seen[j]).max() > 0.15


def test_importing_and_drawing_leaves_the_global_settings_alone():
    before = dict(mpl.rcParams)
    fig, ax = some_figure()
    style.title(fig, "a takeaway", "quick run, 5 seeds")
    style.paper_line(ax, 0.5)
    svg(fig)
    assert dict(mpl.rcParams) == before


def test_the_svg_is_xml_without_date_whose_ink_and_paper_follow_the_theme():
    fig, ax = some_figure()
    style.interval(ax, 0.5, 0.5, 0.4, 0.6, hollow=True)
    text = svg(fig)
    ET.fromstring(text)
    assert "currentColor" in text
    assert "var(--paper)" in text
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"(?i)(fill|stroke): ?#(000000|ffffff)", text)
    assert "date" not in text.lower()
    assert ">steps</text>" in text  # text stays text


def test_the_same_figure_gives_the_same_bytes():
    assert svg(some_figure()[0]) == svg(some_figure()[0])


def test_a_text_that_names_a_colour_keeps_it():
    fig, ax = some_figure()
    ax.text(0, 0, "black is #000000")
    assert "black is #000000" in svg(fig)


def test_many_marks_are_rasterised():
    fig, ax = style.figure(height=2.0)
    rng = np.random.default_rng(0)
    ax.plot(rng.random(3000), rng.random(3000), "o")
    text = svg(fig)
    assert "<image" in text
    assert len(text) < 300_000


def test_show_gives_one_svg_output_that_says_how_it_was_made():
    fig, _ = some_figure()
    shown = style.show(fig, "fig-some", style.figure, parameters={"c": 0.033}, seeds=5, seconds=1.5)
    data, metadata = shown._repr_mimebundle_()
    assert [key for key in data if key.startswith("image/")] == ["image/svg+xml"]
    assert metadata["reprise"] == {
        "figure": "fig-some",
        "made_by": "reprise.style.figure",
        "parameters": {"c": 0.033},
        "seeds": 5,
        "seconds": 1.5,
    }
    json.dumps(metadata)


@pytest.mark.parametrize("made_by", ["nowhere.at_all", "reprise.style.nothing", "x", 3])
def test_show_refuses_a_function_that_cannot_be_imported(made_by):
    with pytest.raises(ValueError, match="made_by"):
        style.show(some_figure()[0], "fig-some", made_by)


@pytest.mark.parametrize("name", ["Fig", "fig gain", ""])
def test_show_refuses_a_name_that_is_no_anchor(name):
    with pytest.raises(ValueError, match="name"):
        style.show(some_figure()[0], name, style.figure)


def test_show_refuses_parameters_that_are_not_plain():
    with pytest.raises(ValueError, match="parameters"):
        style.show(some_figure()[0], "fig-some", style.figure, parameters={"c": float("nan")})


def test_an_unknown_width_is_named():
    with pytest.raises(ValueError, match="'wide'"):
        style.figure("wide")


def test_labels_at_line_ends_do_not_overlap():
    fig, ax = style.figure(height=2.5)
    ends = [0.50, 0.51, 0.52, 0.9]
    for y in ends:
        ax.plot([0, 1], [0, y])
    style.label_lines(ax, [(f"line {y}", 1, y, style.METHOD) for y in ends])
    svg(fig)
    boxes = sorted((t.get_window_extent() for t in ax.texts), key=lambda b: b.y0)
    assert len(boxes) == 4
    for below, above in itertools.pairwise(boxes):
        assert below.y1 <= above.y0 + 1


def test_an_interval_must_hold_its_value():
    _, ax = some_figure()
    with pytest.raises(ValueError, match="low"):
        style.interval(ax, 0, 1.0, 2.0, 3.0)


def test_a_missing_table_has_a_figure_too():
    data, metadata = style.not_yet("fig-later")._repr_mimebundle_()
    assert "full profile" in data["image/svg+xml"]
    assert metadata["reprise"]["figure"] == "fig-later"


@pytest.mark.parametrize(
    ("x", "shown"), [(0.1, "0.1"), (100, "100"), (3e-5, "3·10⁻⁵"), (1e-5, "10⁻⁵"), (-2, "−2")]
)
def test_ticks_are_plain_numbers(x, shown):
    assert style.plain(x) == shown


@pytest.mark.parametrize(("ink", "paper"), [style.LIGHT, style.DARK])
def test_words_in_data_colours_lean_on_the_ink_and_hold_4_5_to_1(ink, paper):
    fig, ax = style.figure(height=2.0)
    style.note(ax, "word", (0, 0), color=style.METHOD)
    found = re.search(r"color-mix\(in srgb, (#\w{6}) (\d+)%, currentColor\)", svg(fig))
    assert found[1] == style.METHOD
    share = int(found[2]) / 100
    colours = [style.METHOD, *style.BASELINES, *map(style.PROGRESS, np.linspace(0, 1, 21))]
    for colour in colours:
        rgb = (np.array(mpl.colors.to_rgb(c)) for c in (colour, ink))
        assert contrast(np.dot([share, 1 - share], list(rgb)), paper) >= 4.5, colour


def test_a_title_is_wrapped_to_the_width_of_its_figure():
    text = "a takeaway that is much too long for the one line that a narrow figure has room for"
    fig, ax = style.figure("half")
    style.title(ax, text)
    fig.draw_without_rendering()
    assert fig.get_suptitle().replace("\n", " ") == text
    assert fig.get_suptitle().count("\n") >= 1
    assert fig.texts[0].get_window_extent().x1 <= fig.bbox.x1


def test_shown_figures_are_closed_where_pyplot_knows_them():
    import matplotlib.pyplot as plt

    fig, _ = plt.subplots()
    style.show(fig, "fig-x", style.figure)
    assert not plt.fignum_exists(fig.number)
