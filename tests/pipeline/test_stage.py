from __future__ import annotations

import json
import shutil

import nbformat
import pytest

from reprise.closure import file_digest
from reprise.pipeline import book, pages, stage
from reprise.pipeline.cells import UserError


def staged(mini, **given) -> dict[str, str]:
    """Stage everything and return what couldn't be staged."""
    return stage.stage(mini.root, book.chapters(mini.root), **given)


def page(mini, slug: str = "gamma"):
    path = mini.path(f"_build/stage/book/{slug}.ipynb")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def stamps(mini) -> dict[str, int]:
    folder = mini.path("_build/stage")
    return {p.name: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def changed(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def test_staging_twice_writes_nothing_the_second_time(mini):
    assert staged(mini) == {}
    before = stamps(mini)
    assert {"alpha.ipynb", "beta.ipynb", "gamma.ipynb", "intro.md", "references.bib"} <= set(before)
    staged(mini)
    assert stamps(mini) == before
    # Nor when it has forgotten what it staged: cell ids go by position.
    mini.path("_build/stage.json").unlink()
    staged(mini)
    assert stamps(mini) == before


@pytest.mark.parametrize(
    "old, new",
    [
        ("Prose of gamma", "Other prose of gamma"),
        ("A caption of gamma", "Another caption of gamma"),
        ("A dot of gamma", "A round dot of gamma"),
        ("# seeds per condition", "# seeds"),
    ],
    ids=["prose", "caption", "alt text", "comment in a cell"],
)
def test_prose_captions_and_comments_change_the_page_and_run_nothing(mini, old, new):
    from reprise.pipeline import digests

    staged(mini)
    before, runs = stamps(mini), mini.runs()
    mini.edit("book/gamma.md", old, new)
    assert digests.stale(book.chapter(mini.root, "gamma"), "quick") == []
    staged(mini)
    assert changed(before, stamps(mini)) == {"gamma.ipynb"}
    text = json.dumps(page(mini))
    assert new in text
    assert "12 rows" not in text  # e1: 2 distributions, 2 estimators, 3 sizes, 2 seeds
    assert "24 rows" in text
    assert mini.runs() == runs


def test_a_page_drops_papermills_metadata_and_numbers_its_cells(mini):
    staged(mini)
    notebook = page(mini, "alpha")
    assert "papermill" not in notebook.metadata
    assert "jupytext" not in notebook.metadata
    assert not any("papermill" in cell.metadata for cell in notebook.cells)
    ids = [cell.id for cell in notebook.cells]
    assert ids == [f"cell-{number:03d}" for number in range(len(ids))]
    assert str(mini.root) not in json.dumps(notebook)


def test_the_injected_cell_is_hidden(mini):
    staged(mini)
    (cell,) = [c for c in page(mini).cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert "remove-cell" in cell.metadata["tags"]


def test_a_figure_says_how_it_was_made(mini):
    staged(mini)
    cells = page(mini).cells
    (at,) = [n for n, cell in enumerate(cells) if "{div} made-by" in cell.source]
    assert cells[at].source == (
        "::::{div} made-by\nHow this was made: {py:obj}`~reprise.gamma.dots.Dot` with `r = 4`, "
        '2 seeds, 0.25 s. <a href="../figures/gamma/dot.svg" download>Download the figure</a> '
        "(SVG).\n::::"
    )
    assert "Dot()" in cells[at - 1].source
    hidden = nbformat.v4.new_code_cell("x", outputs=cells[at - 1].outputs)
    hidden.metadata["tags"] = ["remove-output"]
    assert len(stage.with_notes(hidden, mini.item("gamma"))) == 1
    hidden.metadata["tags"] = ["hide-input"]
    assert len(stage.with_notes(hidden, mini.item("gamma"))) == 2


def test_what_is_said_of_a_figure_is_escaped():
    given = {"x": "<script>", "y": "`", "c": 0.1 + 0.2}
    cell = pages.made_by({"made_by": "a.b", "parameters": given, "seeds": "<i>"})
    assert "`` x = <script>, y = `, c = 0.3 ``" in cell.source  # as code, whatever is in it
    assert "<i>" not in cell.source
    assert ", 1 seed." in pages.made_by({"made_by": "a.b", "seeds": 1}).source


def test_the_footer_tells_the_runs_own_commit_and_cost(mini):
    record = mini.record("gamma")
    mini.edit("book/gamma.md", "Prose of", "New prose of")
    mini.git("commit", "-qam", "later")
    staged(mini)
    last = page(mini).cells[-1].source
    assert last.startswith("````{admonition} Provenance")
    assert record["commit"][:10] in last
    assert "Profile quick" in last
    assert "n_seeds = 2" in last
    assert f"peak memory {record['peak_mb']} MB" in last
    assert record["machine"]["cpu"] in last
    assert "numpy " in last
    assert "| e1 | 2 | 24 |" in last


def fail(mini, slug: str = "gamma") -> None:
    report = {"cell": 2, "excerpt": "e1 = no", "error": "NameError: name 'no' is not defined"}
    mini.run_file(f"{slug}.failed.json").write_text(json.dumps(report))
    mini.edit(f"src/reprise/{slug}/centre.py", "values**2", "values**4")


def test_of_a_failed_run_the_page_is_the_whole_last_good_one_under_a_banner(mini):
    staged(mini)
    before = stamps(mini)
    fail(mini)
    mini.edit("book/gamma.md", "Prose of gamma", "Prose of a future gamma")
    assert staged(mini) == {}
    # beta and alpha don't depend on gamma; gamma's own page alone changes.
    assert changed(before, stamps(mini)) == {"gamma.ipynb"}
    text = "\n".join(cell.source for cell in page(mini).cells)
    assert text.startswith(
        "# Chapter gamma\n````{admonition} The newest run of this chapter failed"
    )
    assert "`cell 2 (e1 = no): NameError: name 'no' is not defined`" in text
    assert "Prose of gamma" in text
    assert "future" not in text
    assert mini.record("gamma")["commit"][:10] in text


def test_a_failure_that_was_just_seen_is_named_even_when_the_code_is_current(mini):
    staged(mini, failures={"gamma": "cell 9 (x): Oops: `a` | ``b``"})
    text = page(mini).cells[1].source
    assert "``` cell 9 (x): Oops: `a` | ``b`` ```" in text


def test_a_chapter_without_a_good_run_gets_a_stub(mini):
    for name in ("gamma.ipynb", "gamma.json"):
        mini.run_file(name).unlink()
    fail(mini)
    staged(mini)
    text = "\n".join(cell.source for cell in page(mini).cells)
    assert text.startswith("# Chapter gamma\n")
    assert "This chapter's run failed" in text
    assert "NameError" in text
    assert "There is no good run to show instead" in text


def test_results_of_an_earlier_version_are_marked(mini):
    mini.edit("src/reprise/gamma/centre.py", "values**2", "values**4")
    staged(mini)
    text = "\n".join(cell.source for cell in page(mini).cells)
    assert "````{admonition} Results of an earlier version" in text
    assert "Prose of gamma" in text


def test_a_syntax_error_in_a_module_is_a_failure_of_its_chapter_alone(mini):
    with mini.path("src/reprise/gamma/centre.py").open("a") as file:
        file.write("def (\n")
    staged(mini)
    assert "SyntaxError" in page(mini).cells[1].source
    assert "{admonition} The newest" not in json.dumps(page(mini, "beta"))


def test_a_missing_asset_is_said_above_the_last_good_run(mini):
    mini.edit("src/reprise/gamma/centre.py", "values**2", "values**4")
    staged(mini, lacking={"gamma": ["mnist"]})
    text = "\n".join(cell.source for cell in page(mini).cells)
    assert "Data of this chapter are missing here" in text
    assert "`mnist`" in text
    assert "Prose of gamma" in text


def test_a_missing_asset_without_a_run_gives_a_page_of_the_stored_results(mini):
    for name in ("beta.ipynb", "beta.json"):
        mini.run_file(name).unlink()
    shutil.rmtree(mini.run_file("beta"))
    staged(mini, lacking={"beta": ["mnist"]})
    text = "\n".join(cell.source for cell in page(mini, "beta").cells)
    assert "Missing: `mnist`" in text
    assert "Of the stored full run of 20" in text
    assert "| On normal data the mean has the smaller error. |" in text


def test_a_page_that_names_this_machine_is_not_published(mini):
    staged(mini)
    before = stamps(mini)
    path = mini.run_file("gamma.ipynb")
    path.write_text(path.read_text().replace("24 rows", f"24 rows {mini.root}/x"))
    record = dict(mini.record("gamma"), notebook=file_digest(path))
    mini.run_file("gamma.json").write_text(json.dumps(record))
    for _ in range(2):  # again and again, until it is right
        assert staged(mini)["gamma"].startswith("cell 2: its output names a path of this machine")
    assert changed(before, stamps(mini)) == set()


def test_prose_and_run_that_do_not_fit_are_refused(mini):
    run = nbformat.read(mini.run_file("gamma.ipynb"), as_version=4)
    text = mini.path("book/gamma.md").read_text()
    stage.merge(text, run)
    with pytest.raises(stage.Refused, match="not those of its last run"):
        stage.merge(text.replace("Dot()", "Dot(1)"), run)


def test_pages_without_code_are_copied_and_what_is_gone_is_removed(mini):
    mini.path("book/guide").mkdir()
    mini.path("book/guide/a.md").write_text("# A\n")
    mini.path("book/draft.md").write_text("# D\n\n```{code-cell} ipython3\n1\n```\n")
    staged(mini)
    stage_folder = mini.path("_build/stage/book")
    assert (stage_folder / "guide" / "a.md").read_text() == "# A\n"
    assert not (stage_folder / "draft.md").exists()
    assert not (stage_folder / "profiles").exists()
    shutil.rmtree(mini.path("book/guide"))
    mini.edit("_toc.yml", "  - file: book/gamma\n", "")
    staged(mini)
    assert not (stage_folder / "guide").exists()
    assert not (stage_folder / "gamma.ipynb").exists()


def test_a_listed_page_with_code_needs_a_package(mini):
    mini.path("book/extra.md").write_text("# D\n\n```{code-cell} ipython3\n1\n```\n")
    staged(mini)
    mini.edit("_toc.yml", "book/gamma\n", "book/gamma\n  - file: book/extra\n")
    with pytest.raises(UserError, match=r"book/extra.md has code cells"):
        staged(mini)
