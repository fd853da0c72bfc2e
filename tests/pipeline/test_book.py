from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from reprise.pipeline import book
from reprise.pipeline.book import Chapter, UserError
from reprise.pipeline.cells import assignments, code_cells, fit, merge, parameters

NOTEBOOK = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Toy

<!--
```{code-cell} ipython3
hidden = 1
```
-->

````md
```{code-cell} ipython3
an_example = 1
```
````

```{code-cell} ipython3
:tags: [parameters]

profile: str = "quick"  # quick or full
n_seeds: int = 3  # seeds per condition
c: float = 0.5
sizes: list[int] = [4, 8]
cap: int | None = None
```

Some text

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  figure: {name: fig-one, caption: "A caption"}
---
x = 1
print(x)
```

~~~{code-cell} ipython3

y = 2
~~~
"""

CONFIGS = """
from __future__ import annotations
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Draws:
    n_seeds: int = field(metadata={"paper": "10"})
    c: float = field(metadata={"paper": "0.5"})

    def __post_init__(self):
        if self.c <= 0:
            raise ValueError(f"`c` must be positive, got {self.c}")

def configs(parameters):
    return {"e1": Draws(n_seeds=parameters["n_seeds"], c=parameters["c"])}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch) -> Path:
    root = tmp_path / "repo"
    monkeypatch.setenv("REPRISE_ROOT", str(root))
    monkeypatch.setenv("REPRISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    (root / "book" / "profiles").mkdir(parents=True)
    experiments = root / "src" / "reprise" / "toy" / "experiments"
    experiments.mkdir(parents=True)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nparts:\n"
        "- caption: A\n  chapters:\n  - file: book/toy\n  - file: book/nothing\n"
    )
    (root / "book" / "toy.md").write_text(NOTEBOOK)
    (root / "book" / "profiles" / "toy.full.yml").write_text("profile: full\nn_seeds: 10\nc: 2\n")
    (experiments / "configs.py").write_text(CONFIGS)
    (experiments / "e1.py").write_text("")
    (experiments / "e10.py").write_text("")
    (experiments / "e2.py").write_text("")
    (experiments / "helpers.py").write_text("")
    return root


def check(root: Path, *args, **options):
    return book.check(root, *args, **{"claims": False, **options})


def tree(root: Path) -> list[str]:
    return sorted(str(p) for p in root.parent.rglob("*") if "__pycache__" not in p.parts)


def test_code_cells_are_those_that_jupytext_reads():
    import jupytext

    cells = [c for c in jupytext.reads(NOTEBOOK, fmt="md:myst").cells if c.cell_type == "code"]
    assert list(code_cells(NOTEBOOK)) == [(c.source, dict(c.metadata)) for c in cells]
    assert len(cells) == 3


def test_code_cells_of_every_chapter_are_those_that_jupytext_reads():
    import jupytext

    for chapter in book.chapters(Path(__file__).resolve().parents[2]):
        nb = jupytext.read(chapter.source)
        theirs = [(c.source, dict(c.metadata)) for c in nb.cells if c.cell_type == "code"]
        assert chapter.code_cells() == theirs


def test_parameters_have_default_type_and_comment(toy):
    found = Chapter("toy", toy).parameters()
    assert list(found) == ["profile", "n_seeds", "c", "sizes", "cap"]
    seeds = found["n_seeds"]
    assert (seeds.default, seeds.type, seeds.comment) == (3, "int", "seeds per condition")
    assert found["sizes"].default == [4, 8]


def test_profile_merges_defaults_file_and_overrides(toy):
    chapter = Chapter("toy", toy)
    quick = chapter.profile("quick")
    assert quick == {"profile": "quick", "n_seeds": 3, "c": 0.5, "sizes": [4, 8], "cap": None}
    full = chapter.profile("full", {"n_seeds": 7})
    assert (full["profile"], full["n_seeds"], full["c"]) == ("full", 7, 2.0)
    assert type(full["c"]) is float


def test_configs_need_no_notebook_run_and_follow_the_profile(toy):
    chapter = Chapter("toy", toy)
    assert chapter.configs("full")["e1"].n_seeds == 10
    assert chapter.configs("quick", {"c": 1})["e1"].c == 1.0


def test_changed_configs_are_seen_at_once(toy):
    chapter = Chapter("toy", toy)
    assert list(chapter.configs("quick")) == ["e1"]
    path = chapter.package / "experiments" / "configs.py"
    stat = path.stat()
    path.write_text(CONFIGS.replace('"e1"', '"e2"'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1000))
    assert list(chapter.configs("quick")) == ["e2"]


def test_experiments_come_in_number_order(toy):
    assert Chapter("toy", toy).experiments() == ["e1", "e2", "e10"]


def test_chapters_are_the_toc_entries_that_have_a_package(toy):
    assert [c.slug for c in book.chapters(toy)] == ["toy"]


@pytest.mark.parametrize(
    "value, kind",
    [
        (True, "int"),
        (1.0, "int"),
        ("1", "int"),
        (1, "bool"),
        (1, "str"),
        ("1e-3", "float"),
        (True, "float"),
        ([1, "a"], "list[int]"),
        (3, "list[int]"),
        ("a", "int | None"),
    ],
)
def test_values_of_another_type_do_not_fit(value, kind):
    with pytest.raises(ValueError, match="must be"):
        fit(value, kind)


def test_int_fits_float_also_in_lists():
    assert fit([1, 2.5], "list[float]") == [1.0, 2.5]
    assert fit(None, "int | None") is None
    assert fit([[1], []], "list[list[int]]") == [[1], []]


def test_text_that_looks_like_a_float_gets_a_hint():
    with pytest.raises(ValueError, match=r"write it with a point.*1\.0e-03"):
        fit("1e-3", "float")


def test_assignments_are_read_by_annotation():
    declared = parameters(
        'n: int = 1\nc: float = 0.1\nname: str = "a"\non: bool = True\nxs: list[int] = [1]', "x"
    )
    texts = ["n=3", "c=1e-3", "name=5", "on=false", "xs=[1, 2]"]
    values = merge(declared, assignments(texts, declared), "here")
    assert values == {"n": 3, "c": 1e-3, "name": "5", "on": False, "xs": [1, 2]}


@pytest.mark.parametrize(
    "cell, message",
    [
        ("n = 1", "line 1 of the parameters cell"),
        ("n: int = f(1)", "literal"),
        ("n: int = 'a'", "parameter n must be int"),
        ("n: dict = {}", "list"),
        ("n: int =", "not Python"),
    ],
)
def test_a_parameters_cell_holds_only_annotated_literals(cell, message):
    with pytest.raises(UserError, match=message):
        parameters(cell, "book/x.md")


BAD = {
    "unknown slug": ({"slugs": ["tyo"]}, "'tyo'.*did you mean 'toy'"),
    "unknown profile": ({"profile": "fulll"}, "'fulll'.*did you mean 'full'"),
    "unknown experiment": ({"experiments": ["e3"]}, "no experiment 'e3'"),
    "experiment not in profile": ({"experiments": ["e2"]}, "doesn't run e2"),
    "unknown parameter": ({"overrides": {"n_seed": 1}}, "'n_seed': did you mean 'n_seeds'"),
    "wrong type": ({"overrides": {"n_seeds": "x"}}, "n_seeds must be int, got 'x'"),
    "out of range": ({"overrides": {"c": -1.0}}, "`c` must be positive, got -1.0"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_use_stops_before_work_in_one_line(toy, case):
    options, message = BAD[case]
    before = tree(toy)
    with pytest.raises(UserError, match=message) as caught:
        check(toy, **options)
    assert "\n" not in str(caught.value)
    assert tree(toy) == before


@pytest.mark.parametrize(
    "text, message",
    [
        ("profile: full\nn_seeds: many\n", "toy.full.yml: parameter n_seeds must be int"),
        ("profile: full\nseeds: 3\n", "toy.full.yml: there is no parameter 'seeds'"),
        ("n_seeds: 3\n", "needs the line `profile: full`"),
        ("profile: full\nc: -1\n", "profile full: `c` must be positive"),
        ("profile: [full\n", "is not YAML"),
        ("- 1\n", "must hold lines"),
    ],
)
def test_a_wrong_profile_file_is_named(toy, text, message):
    (toy / "book" / "profiles" / "toy.full.yml").write_text(text)
    with pytest.raises(UserError, match=message):
        check(toy, profile="full")


def test_a_notebook_without_parameters_cell_is_refused(toy):
    path = toy / "book" / "toy.md"
    path.write_text(NOTEBOOK.replace("[parameters]", "[other]"))
    with pytest.raises(UserError, match=r"book/toy.md: no cell tagged `parameters`"):
        check(toy)


def test_a_notebook_that_is_gone_is_refused(toy):
    (toy / "book" / "toy.md").unlink()
    with pytest.raises(UserError, match=r"book/toy.md: No such file"):
        check(toy)


def test_a_folder_that_cannot_be_written_is_refused(toy, monkeypatch):
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: mode == os.R_OK and real(p, mode))
    with pytest.raises(UserError, match="can't write to _build: no permission"):
        check(toy)


@pytest.mark.parametrize("folder", ["_build", "data/results"])
def test_a_file_in_the_place_of_a_folder_is_refused(toy, folder):
    path = toy / folder
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(UserError, match=f"can't write to {folder}: .* is not a folder"):
        check(toy, stores=True)


def test_a_cache_that_cannot_be_written_is_refused(toy, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REPRISE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match=r"can't write to .*cache \(REPRISE_CACHE\)"):
        check(toy)


def test_a_full_disk_is_refused(toy, monkeypatch):
    usage = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    with pytest.raises(UserError, match="no space for _build: 1 MB free"):
        check(toy)


def test_an_unreachable_scheduler_is_refused(toy, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", f"tcp://127.0.0.1:{port}")
    with pytest.raises(UserError, match="no Dask scheduler answers"):
        check(toy)


BROKEN_CLAIMS = {
    'sign("log_ratio", +1)': (
        'sign("gain", +1)',
        r"toy/claims\.py: claim C1: .* estimate 'gain', which no measure makes",
    ),
    '("e1",)': (
        '("e7",)',
        r"toy/claims\.py: measure 'log_ratio' reads the experiment 'e7', which doesn't exist",
    ),
    "CLAIMS = [": ("CLAIMS = [nothing,", r"toy/claims\.py: NameError: .*nothing"),
    'part="Privacy"': ('part="Cooking"', r"toy/claims\.py: `part` must be one of"),
}


@pytest.mark.parametrize("old", BROKEN_CLAIMS)
def test_claims_that_no_experiment_can_decide_stop_before_work(made, old):
    new, message = BROKEN_CLAIMS[old]
    path = made.item.package / "claims.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    before = tree(made.root)
    with pytest.raises(UserError, match=message) as caught:
        book.check(made.root, ["toy"])
    assert "\n" not in str(caught.value)
    assert tree(made.root) == before


def test_configs_that_name_no_module_stop_before_work(made):
    path = made.item.package / "experiments" / "configs.py"
    path.write_text(path.read_text().replace('"e1": Errors', '"e3": Errors'))
    with pytest.raises(UserError, match=r"names 'e3', but there is no .*experiments/e3\.py"):
        book.check(made.root, ["toy"])


def test_nothing_heavy_is_imported():
    code = "import sys, reprise.pipeline.book; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "jupytext", "papermill", "numpy", "pandas", "scipy", "nbformat"}
