from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from reprise.pipeline import book, execute, kernel, outputs


def run(mini, *options: str, code: int = 0, **env: str) -> str:
    """Execute gamma in a process of its own and return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "reprise.pipeline.execute", "--slug=gamma", *options],
        cwd=mini.root,
        env=mini.env | env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def files(mini) -> list[str]:
    folder = mini.run_file("")
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*gamma*") if p.is_file()
    ) + sorted(f"gamma/{p.name}" for p in mini.run_file("gamma").iterdir())


GOOD = ["gamma.ipynb", "gamma.json", "gamma.lock", "gamma.log", "gamma.progress"]
TABLES = ["gamma/e1.csv", "gamma/run.json"]


def test_a_good_run_leaves_notebook_record_and_tables_and_nothing_half(mini):
    assert files(mini) == GOOD + TABLES
    record = mini.record("gamma")
    assert set(record) >= {
        "schema", "slug", "profile", "digest", "parts", "commit", "dirty", "date", "seconds",
        "cpu_seconds", "peak_mb", "parameters",
    }  # fmt: skip
    assert record["profile"] == "quick"
    assert len(record["commit"]) == 40
    assert not record["dirty"]
    assert 0 < record["cpu_seconds"] < 60
    assert record["parameters"]["n_seeds"] == 2
    (experiment,) = json.loads(mini.run_file("gamma/run.json").read_text())["experiments"].values()
    assert experiment["commit"] == record["commit"]


def test_the_run_is_the_one_that_the_digests_call_fresh(mini):
    from reprise.pipeline import digests

    (chapter,) = book.check(mini.root, ["gamma"])
    assert digests.stale(chapter, "quick") == []
    assert mini.record("gamma")["digest"] == digests.run_digest(chapter, "quick")


CODE = """
```{code-cell} ipython3
import os
import matplotlib
print(sorted((k, v) for k, v in os.environ.items() if k.endswith("_NUM_THREADS")))
print("jobs", os.environ.get("REPRISE_JOBS"), "out", "REPRISE_OUT" in os.environ)
print("here", os.path.exists("_toc.yml"), matplotlib.get_backend(), bool(os.environ["REPRISE_RUN"]))
```
"""
FAILING = """
```{code-cell} ipython3
x = 1
y = x / 0
```

```{code-cell} ipython3
print("never reached")
```
"""


def append(mini, text: str) -> None:
    path = mini.path("book/gamma.md")
    path.write_text(path.read_text() + text)


def output(mini) -> str:
    cells = nbformat.read(mini.run_file("gamma.ipynb"), as_version=4).cells
    return "\n".join(t for c in cells for o in c.get("outputs", []) for t in outputs.texts(o))


def test_a_kernel_has_one_thread_the_root_as_its_folder_and_inline_figures(mini):
    append(mini, CODE)
    run(mini, REPRISE_JOBS="", MPLBACKEND="agg", OMP_NUM_THREADS="7")
    said = output(mini)
    assert "('OMP_NUM_THREADS', '1')" in said
    assert "('MKL_NUM_THREADS', '1')" in said
    assert "here True" in said
    assert "inline True" in said
    assert "out True" in said


def test_a_failing_cell_is_named_and_the_last_good_run_stays(mini):
    before = {name: mini.run_file(name).read_bytes() for name in GOOD[:2] + TABLES}
    append(mini, FAILING)
    mini.edit("src/reprise/gamma/experiments/e1.py", "estimator", "estimator ")
    said = run(mini, code=1)
    assert "book/gamma.md, cell 4: y = x / 0: ZeroDivisionError: division by zero" in said
    assert {name: mini.run_file(name).read_bytes() for name in before} == before
    report = json.loads(mini.run_file("gamma.failed.json").read_text())
    assert report["cell"] == 4
    assert report["excerpt"] == "y = x / 0"
    assert report["error"] == "ZeroDivisionError: division by zero"
    assert report["date"]
    partial = nbformat.read(mini.run_file("gamma.failed.ipynb"), as_version=4)
    assert any(o.output_type == "error" for c in partial.cells for o in c.get("outputs", []))
    assert files(mini) == sorted([*GOOD, "gamma.failed.ipynb", "gamma.failed.json"]) + TABLES

    # A good run removes the traces of the failed one.
    mini.edit("book/gamma.md", "x / 0", "x / 2")
    run(mini)
    assert files(mini) == GOOD + TABLES


def test_a_kernel_that_dies_is_a_failure_without_a_cell(mini):
    append(mini, "\n```{code-cell} ipython3\nimport os, signal\nos.kill(os.getpid(), 9)\n```\n")
    said = run(mini, code=1)
    assert "Traceback" in said
    assert "DeadKernelError" in said
    report = json.loads(mini.run_file("gamma.failed.json").read_text())
    assert report["cell"] is None
    assert report["error"].startswith("DeadKernelError")


def test_an_output_that_names_a_path_of_this_machine_fails(mini):
    append(
        mini, "\n```{code-cell} ipython3\nfrom reprise import paths\nprint(paths.cache())\n```\n"
    )
    before = mini.run_file("gamma.ipynb").read_bytes()
    said = run(mini, code=1)
    assert "cell 4: print(paths.cache()): its output names a path of this machine" in said
    assert mini.run_file("gamma.ipynb").read_bytes() == before


def test_parameters_and_a_folder_of_its_own_leave_the_quick_run_alone(mini, tmp_path):
    before = mini.runs()
    given = tmp_path / "p.json"
    given.write_text('{"n_seeds": 3, "sizes": [5]}')
    run(mini, f"--parameters={given}", f"--run-dir={tmp_path / 'own'}")
    table = (tmp_path / "own" / "gamma" / "e1.csv").read_text()
    assert len(table.splitlines()) == 1 + 2 * 2 * 3
    record = json.loads((tmp_path / "own" / "gamma.json").read_text())
    assert record["parameters"]["sizes"] == [5]
    assert mini.runs() == before
    nb = nbformat.read(tmp_path / "own" / "gamma.ipynb", as_version=4)
    (injected,) = [c for c in nb.cells if kernel.is_injected(c)]
    assert "remove-cell" in injected.metadata["tags"]
    assert "n_trials" not in injected.source  # only what differs


def test_an_edit_during_the_run_leaves_it_stale(mini):
    from reprise.pipeline import digests

    cell = (
        "\n```{code-cell} ipython3\n"
        "from pathlib import Path\n"
        "path = Path('src/reprise/gamma/centre.py')\n"
        "_ = path.write_text(path.read_text() + '\\nLATER = 1\\n')\n```\n"
    )
    append(mini, cell)
    run(mini)
    (chapter,) = book.check(mini.root, ["gamma"])
    assert "changed: module reprise.gamma.centre" in digests.stale(chapter, "quick")


def test_unless_current_runs_nothing_that_is_fresh(mini):
    before = mini.runs()
    run(mini, "--unless-current")
    assert mini.runs() == before


def places(tmp_path: Path) -> execute.Places:
    at = execute.Places(tmp_path / "runs", "x")
    at.tables.mkdir(parents=True)
    (at.tables / "e1.csv").write_text("old")
    at.notebook.write_text("old")
    at.record.write_text("old")
    at.part("tables").mkdir()
    (at.part("tables") / "e1.csv").write_text("new")
    at.part("ipynb").write_text("new")
    return at


def content(at: execute.Places) -> list[str]:
    return [p.read_text() for p in (at.notebook, at.tables / "e1.csv")]


def put(at: execute.Places) -> None:
    execute._put(at, at.part("ipynb"), at.part("tables"), {"schema": 1}, in_place=False)


def test_a_good_run_replaces_the_old_one_and_the_record_comes_last(tmp_path, monkeypatch):
    at, order = places(tmp_path), []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append(Path(b).name), replace(a, b)))
    put(at)
    assert content(at) == ["new", "new"]
    assert json.loads(at.record.read_text()) == {"schema": 1}
    assert order[-1] == "x.json"


def test_on_a_full_disk_the_last_good_run_is_still_there(tmp_path, monkeypatch):
    at = places(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reprise.results.write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        put(at)
    assert content(at) == ["old", "old"]
    assert at.record.read_text() == "old"


def test_between_old_and_new_there_is_no_record(tmp_path, monkeypatch):
    """Whatever rename a kill follows, the tables never stand beside another run's record."""
    replace = os.replace
    for survived in range(5):
        at = places(tmp_path / str(survived))
        count = iter(range(100))

        def until(a, b, count=count, survived=survived):
            if next(count) >= survived:
                raise KeyboardInterrupt
            replace(a, b)

        monkeypatch.setattr(os, "replace", until)
        with pytest.raises(KeyboardInterrupt):
            put(at)
        monkeypatch.setattr(os, "replace", replace)
        assert not at.record.exists() or (survived == 0 and content(at) == ["old", "old"])


def test_parts_of_killed_runs_are_removed(tmp_path):
    at = execute.Places(tmp_path, "x")
    (tmp_path / ".x.123.tables").mkdir()
    (tmp_path / ".x.123.ipynb").write_text("half")
    (tmp_path / ".xy.123.ipynb").write_text("another chapter's")
    at.notebook.write_text("good")
    at.tidy()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".xy.123.ipynb", "x.ipynb"]


def test_an_output_may_not_name_a_folder_of_this_machine():
    def cell(text: str) -> dict:
        return {"outputs": [{"output_type": "stream", "name": "stdout", "text": text}]}

    places = ["/home/me/book", "/home/me"]
    assert outputs.leaks([cell("fine"), cell("at /home/me/book/x.py")], places)[0] == 1
    assert outputs.leaks([cell("'/home/me'")], places)
    assert outputs.leaks([cell("/tmp/ipykernel_123/45.py:1: Warning")], places)
    for text in ("/home/mea", "a/home/me", "https://x.org/home/me/"):
        assert outputs.leaks([cell(text)], places) is None, text
    svg = {"outputs": [{"data": {"image/svg+xml": ["<svg>", "/home/me"]}}]}
    png = {"outputs": [{"data": {"image/png": "/home/me"}}]}
    assert outputs.leaks([svg], places)
    assert not outputs.leaks([png], places)
    assert outputs.hide("open '/home/me/book/data/x.csv'", places) == "open 'data/x.csv'"
