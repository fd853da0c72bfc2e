from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from reprise import paths, provenance


@dataclass(frozen=True)
class Config:
    x: float
    n_seeds: int


def test_config_values_can_leave_the_seeds_out() -> None:
    assert provenance.config_values(Config(0.5, 3)) == {
        "class": "Config",
        "fields": {"x": 0.5, "n_seeds": 3},
    }
    assert provenance.config_values(Config(0.5, 3), n_seeds=False)["fields"] == {"x": 0.5}
    with pytest.raises(ValueError, match="`config` must be a dataclass instance, got dict"):
        provenance.config_values({})


def test_digest_of_ignores_the_order_of_keys_only() -> None:
    assert provenance.digest_of({"a": 1, "b": 2}) == provenance.digest_of({"b": 2, "a": 1})
    assert provenance.digest_of([1, 2]) != provenance.digest_of([2, 1])


def test_the_machine_names_no_host_user_or_path() -> None:
    text = json.dumps(provenance.machine())
    assert os.uname().nodename not in text
    assert f'"{getpass.getuser()}"' not in text
    assert "/" not in provenance.machine()["system"]
    assert provenance.machine()["cores"] >= 1


def test_versions_are_those_of_the_lock_without_local_suffix() -> None:
    found = provenance.versions(["numpy", "sklearn", "no_such_library"])
    assert set(found) == {"numpy", "scikit-learn"}
    assert all("+" not in version for version in provenance.versions(["torch"]).values())
    pins = provenance.locked()
    assert not pins or found["numpy"] == pins["numpy"]


def test_meter_counts_time_and_memory_of_children() -> None:
    code = "import time; x = bytearray(120_000_000); t = time.process_time()\n"
    code += "while time.process_time() - t < 0.6: pass"
    with provenance.Meter(interval=0.05) as meter:
        subprocess.run([sys.executable, "-c", code], check=True)
    assert meter.seconds >= 0.6
    assert 0.6 <= meter.cpu_seconds <= meter.seconds * 2 + 1
    assert meter.peak_mb > 120


def test_meter_sees_its_own_time() -> None:
    with provenance.Meter() as meter:
        start = time.process_time()
        while time.process_time() - start < 0.1:
            pass
    assert meter.cpu_seconds == pytest.approx(0.1, abs=0.08)


def test_commit_is_empty_outside_of_a_repository(tmp_path: Path) -> None:
    assert provenance.commit(tmp_path / "nowhere") == ("", False)


def test_root_is_found_upwards_and_by_name(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "_toc.yml").write_text("")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.delenv("REPRISE_ROOT", raising=False)
    monkeypatch.chdir(inner)
    assert paths.root() == tmp_path
    monkeypatch.setenv("REPRISE_ROOT", str(inner))
    with pytest.raises(paths.NoRepository, match=r"holds no _toc\.yml"):
        paths.root()


def test_outputs_without_a_pipeline_go_to_scratch(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "_toc.yml").write_text("")
    monkeypatch.setenv("REPRISE_ROOT", str(tmp_path))
    monkeypatch.delenv("REPRISE_OUT", raising=False)
    assert paths.out("toy", "quick") == tmp_path / "_build" / "scratch" / "quick" / "toy"
    monkeypatch.setenv("REPRISE_OUT", str(tmp_path / "x"))
    assert paths.out("toy", "quick") == tmp_path / "x"
    monkeypatch.setenv("REPRISE_CACHE", str(tmp_path / "c"))
    assert paths.cache() == tmp_path / "c"
