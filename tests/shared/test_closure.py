from __future__ import annotations

from pathlib import Path

import pytest

from reprise.closure import closure, digest_of, parse, source_digest

SOURCE = '''
"""A module."""
import math

def area(r, *, scale=1.0):  # of a disc
    """Return the area."""
    return scale * math.pi * r**2
'''


def test_digest_of_a_fixed_source_is_the_golden_one() -> None:
    # All Python versions must agree: stored digests are compared across machines.
    assert source_digest(SOURCE) == GOLDEN


GOLDEN = "a10731d40f9c8074788cfa1a28d129e76c3c36f653aaede04a92724aeae21ba3"


@pytest.mark.parametrize(
    "same",
    [
        SOURCE.replace("# of a disc", ""),
        SOURCE.replace('"""Return the area."""', '"""Say something else."""'),
        SOURCE.replace('"""A module."""', ""),
        SOURCE.replace("    return", "\n    return"),
        SOURCE.replace("1.0", "1.00"),
    ],
)
def test_comments_docstrings_and_layout_are_not_in_the_digest(same: str) -> None:
    assert same != SOURCE
    assert source_digest(same) == source_digest(SOURCE)


@pytest.mark.parametrize(
    "other",
    [
        SOURCE.replace("r**2", "r**3"),
        SOURCE.replace("1.0", "1"),
        SOURCE.replace("*, ", ""),
        SOURCE.replace("math.pi", "math.e"),
        SOURCE + "\nextra = 1\n",
        SOURCE.replace("import math", "import cmath as math"),
    ],
)
def test_every_change_of_code_is_in_the_digest(other: str) -> None:
    assert other != SOURCE
    assert source_digest(other) != source_digest(SOURCE)


@pytest.fixture
def src(tmp_path: Path) -> Path:
    texts = {
        "__init__.py": "",
        "datasets/__init__.py": '_EXPORTS = {"cats": "animals", "asset": "registry"}\n'
        "def __getattr__(name):\n    raise AttributeError(name)\n",
        "datasets/animals.py": "from reprise.datasets.registry import asset\n",
        "datasets/plants.py": "x = 1\n",
        "datasets/registry.py": 'TABLE = "registry.toml"\n',
        "datasets/registry.toml": "",
        "style.py": "",
        "p/__init__.py": '_EXPORTS = {"f": "method"}\ndef __getattr__(name):\n    pass\n',
        "p/method.py": "import torch\nfrom . import helper\nfrom .table import T\n",
        "p/helper.py": "def g():\n    from reprise import datasets\n    return datasets.cats()\n",
        "p/table.py": 'from pathlib import Path\nT = Path(__file__).with_name("t.csv")\n',
        "p/t.csv": "1,2\n",
        "p/figures.py": "from reprise import style\n",
        "p/experiments/__init__.py": "",
        "p/experiments/configs.py": "n = 1\n",
        "p/experiments/e1.py": "from reprise.p import f\nfrom .configs import n\n",
        "p/experiments/e2.py": "from reprise.p import figures\n",
    }
    for name, text in texts.items():
        path = tmp_path / "reprise" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def digest(src: Path) -> str:
    found = closure(["reprise.p.experiments.e1"], src, results_only=True)
    return digest_of({name: module.digest for name, module in found.items()})


def test_closure_follows_lazy_names_relative_imports_and_attributes(src: Path) -> None:
    found = closure(["reprise.p.experiments.e1"], src, results_only=True)
    assert list(found) == [
        "reprise.datasets.animals",
        "reprise.p.experiments.e1",
        "reprise.p.helper",
        "reprise.p.method",
        "reprise.p.table",
    ]
    assert found["reprise.p.method"].libraries == ("torch",)
    assert [p.name for p in found["reprise.p.table"].data] == ["t.csv"]


def test_page_closure_holds_figures_and_style_too(src: Path) -> None:
    found = closure(["reprise.p.experiments.e2"], src, results_only=False)
    assert {"reprise.p.figures", "reprise.style"} <= set(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p/figures.py", "x = 1\n"),
        ("p/experiments/configs.py", "n = 1\nm = 2\n"),
        ("p/experiments/e3.py", "x = 1\n"),
        ("datasets/plants.py", "def loader():\n    return 1\n"),
        ("datasets/registry.py", "def asset():\n    return 2\n"),
        ("datasets/registry.toml", "[new]\n"),
        (
            "datasets/__init__.py",
            '_EXPORTS = {"cats": "animals", "asset": "registry", "rose": "plants"}\n',
        ),
        ("p/__init__.py", '_EXPORTS = {"f": "method", "T": "table"}\n'),
        ("style.py", "ink = 1\n"),
        ("q/method.py", "def unrelated():\n    return 0\n"),
    ],
)
def test_unrelated_code_changes_no_result_digest(src: Path, name: str, text: str) -> None:
    before = digest(src)
    path = src / "reprise" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert digest(src) == before


@pytest.mark.parametrize(
    "name", ["p/method.py", "p/helper.py", "p/table.py", "datasets/animals.py"]
)
def test_a_change_anywhere_in_the_closure_changes_the_result_digest(src: Path, name: str) -> None:
    before = digest(src)
    path = src / "reprise" / name
    path.write_text(path.read_text() + "\nchanged = True\n")
    assert digest(src) != before


def test_a_package_passed_on_as_a_whole_counts_as_a_whole(src: Path) -> None:
    path = src / "reprise" / "p" / "helper.py"
    path.write_text("from reprise import datasets\nuse(datasets)\n")
    found = closure(["reprise.p.experiments.e1"], src, results_only=True)
    assert "reprise.datasets.plants" in found


def test_unknown_module_is_refused_by_name(src: Path) -> None:
    with pytest.raises(ValueError, match=r"no module 'reprise\.nowhere'"):
        parse("reprise.nowhere", src)
