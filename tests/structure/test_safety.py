"""No code that runs data: no pickle, eval, shell, unsafe YAML or unsafe torch.load."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "scripts", "tests", "benchmarks")
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
YAML = {"load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all"}
CALLS = {
    "os.system",
    "os.popen",
    "joblib.load",
    "joblib.dump",
    "pd.read_pickle",
    "torch.save_pickle",
}


def findings(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            names = [module] if module else [item.name for item in node.names]
            found += [f"{node.lineno}: {n}" for n in names if n.split(".")[0] in PICKLES]
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        options = {k.arg: k.value for k in node.keywords if k.arg}
        true = {k for k, v in options.items() if isinstance(v, ast.Constant) and v.value is True}
        last = name.rpartition(".")[2]
        if (
            name in {"eval", "exec", *CALLS}
            or "shell" in true
            or "allow_pickle" in true
            or last in {"read_pickle", "to_pickle"}
            or (name.startswith("yaml.") and last in YAML)
            or (name == "torch.load" and "weights_only" not in true)
        ):
            found.append(f"{node.lineno}: {name}")
    return found


def files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_no_module_runs_data_as_code():
    bad = {
        path.relative_to(ROOT).as_posix(): found
        for path in files()
        if (found := findings(path.read_text()))
    }
    assert bad == {}


def test_no_chapter_runs_data_as_code():
    from reprise.pipeline import book

    for chapter in book.chapters(ROOT):
        for source, _ in chapter.code_cells():
            assert findings(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "eval(x)",
        "exec(x)",
        "subprocess.run(x, shell=True)",
        "os.system(x)",
        "yaml.load(x)",
        "yaml.unsafe_load(x)",
        "torch.load(x)",
        "torch.load(x, weights_only=False)",
        "np.load(x, allow_pickle=True)",
        "pd.read_pickle(x)",
    ],
)
def test_each_is_seen(source):
    assert findings(source)


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()",
        "ast.literal_eval(x)",
        "yaml.safe_load(x)",
        "torch.load(x, weights_only=True)",
    ],
)
def test_safe_forms_are_fine(source):
    assert findings(source) == []
