from __future__ import annotations

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["reprise.datasets", "reprise.lm"])
def test_every_exported_name_is_there_and_no_other(name):
    package = importlib.import_module(name)
    assert dir(package) == sorted(package._EXPORTS)
    for public in package._EXPORTS:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_importing_the_packages_imports_no_library():
    script = (
        "import sys, reprise.datasets, reprise.lm, reprise.datasets.registry\n"
        "print(sorted({'torch', 'numpy', 'pandas', 'pooch', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_shared_modules_for_data_and_models_know_nothing_of_results():
    from pathlib import Path

    import reprise
    from reprise import closure

    src = Path(reprise.__file__).parents[1]
    for package in ("datasets", "lm"):
        names = [
            f"reprise.{package}.{path.stem}"
            for path in (src / "reprise" / package).glob("*.py")
            if path.stem != "__init__"
        ]
        found = set(closure.closure(names, src, results_only=False))
        assert not found & {f"reprise.{n}" for n in ("claims", "sweep", "results", "style")}
