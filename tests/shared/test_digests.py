"""Which change makes which page run again: on the toy paper, without running a notebook."""

from __future__ import annotations

import json

import pytest

CHAPTER = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# Toy

```{code-cell} ipython3
:tags: [parameters]

profile: str = "quick"
n_seeds: int = 2  # seeds
```

```{code-cell} ipython3
from reprise import results, style
from reprise.toy.experiments.configs import configs

run = results.open("toy", profile=profile, configs=configs(globals()))
```

```{code-cell} ipython3
---
mystnb:
  figure: {name: fig-toy, caption: A caption}
---
run.run("e1")
```
"""

PARTS = """
import json
from reprise import paths
from reprise.pipeline import book, digests
chapter = book.chapter(paths.root(), "toy")
print(json.dumps({p: digests.run_parts(chapter, p) for p in ("quick", "full")}))
"""


@pytest.fixture
def page(toy):
    (toy.root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nparts:\n- chapters:\n  - file: book/toy\n"
    )
    (toy.root / "book" / "profiles").mkdir(parents=True)
    (toy.root / "book" / "toy.md").write_text(CHAPTER)
    (toy.root / "book" / "profiles" / "toy.full.yml").write_text("profile: full\nn_seeds: 9\n")
    (toy.root / "requirements.lock").write_text("numpy==2.0.0\ntorch==2.0.0\n")
    (toy.root / "src" / "reprise" / "style.py").write_text("ink = 1\n")
    toy.write("figures.py", "from reprise import style\n")
    return toy


def parts(page) -> dict[str, dict[str, str]]:
    return json.loads(page.python(PARTS))


def changed(page, edit) -> dict[str, list[str]]:
    before = parts(page)
    edit()
    after = parts(page)
    return {
        profile: sorted(
            part
            for part in {*before[profile], *after[profile]}
            if before[profile].get(part) != after[profile].get(part)
        )
        for profile in before
    }


def rewrite(page, name: str, old: str, new: str):
    path = page.root / name
    text = path.read_text()
    assert old in text
    return lambda: path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("book/toy.md", "# Toy", "# A toy of another name"),
        ("book/toy.md", "A caption", "Another caption"),
        ("book/toy.md", "n_seeds: int = 2  # seeds", "n_seeds: int = 2  # seeds per cell"),
        ("src/reprise/toy/method.py", "return", "# why\n    return"),
        ("src/reprise/pipeline/digests.py", "MACHINERY = (", "MORE = 1\nMACHINERY = ("),
        ("requirements.lock", "torch==2.0.0", "torch==3.0.0"),
    ],
)
def test_prose_captions_comments_and_machinery_run_nothing(page, name, old, new) -> None:
    assert changed(page, rewrite(page, name, old, new)) == {"quick": [], "full": []}


@pytest.mark.parametrize(
    ("name", "old", "new", "quick", "full"),
    [
        (
            "src/reprise/toy/method.py",
            "x**p",
            "x**p + 1",
            ["full digest of e1", "module reprise.toy.method"],
            ["module reprise.toy.method"],
        ),
        (
            "src/reprise/toy/figures.py",
            "from",
            "x = 1\nfrom",
            ["module reprise.toy.figures"],
            ["module reprise.toy.figures"],
        ),
        (
            "src/reprise/style.py",
            "1",
            "2",
            ["module reprise.style"],
            ["module reprise.style"],
        ),
        ("book/toy.md", 'run.run("e1")', 'run.run("e1").rows', ["code cells"], ["code cells"]),
        ("book/toy.md", "int = 2", "int = 3", ["code cells", "parameters"], ["code cells"]),
        ("book/profiles/toy.full.yml", "9", "8", ["full digest of e1"], ["parameters"]),
        ("requirements.lock", "numpy==2.0.0", "numpy==2.0.1", ["library numpy"], ["library numpy"]),
    ],
)
def test_a_change_is_found_in_just_the_parts_it_touches(page, name, old, new, quick, full) -> None:
    assert changed(page, rewrite(page, name, old, new)) == {"quick": quick, "full": full}


def test_a_stored_full_table_is_part_of_the_quick_page(page) -> None:
    folder = page.root / "data" / "results" / "toy" / "full"

    def store() -> None:
        folder.mkdir(parents=True)
        (folder / "e1.csv").write_text("a\n1\n")

    assert changed(page, store) == {
        "quick": ["stored full run", "stored full table e1"],
        "full": [],
    }


STALE = """
import json
from reprise import paths
from reprise.pipeline import book, digests
chapter = book.chapter(paths.root(), "toy")
if {write}:
    path = digests.record_path(chapter, "quick")
    path.parent.mkdir(parents=True)
    path.with_suffix(".ipynb").write_text("{{}}")
    path.write_text(json.dumps({{"parts": digests.run_parts(chapter, "quick")}}))
print(digests.stale(chapter, "quick"))
"""


def test_staleness_says_why(page) -> None:
    assert page.python(STALE.format(write=False)) == "['never run']\n"
    assert page.python(STALE.format(write=True)) == "[]\n"
    page.write("method.py", "def power(x, p):\n    return x\n")
    assert page.python(STALE.format(write=False)) == (
        "['changed: full digest of e1', 'changed: module reprise.toy.method']\n"
    )
    (page.root / "_build" / "run" / "quick" / "toy.json").write_text('{"parts": {')
    assert page.python(STALE.format(write=False)) == "['never run']\n"
