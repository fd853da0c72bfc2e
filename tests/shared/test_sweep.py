from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reprise import sweep

RUN = """
import json
from reprise import sweep
from reprise.toy.experiments.configs import configs
config = configs({{"n_seeds": {n}, "pause": {pause}, "powers": {powers}}})["e1"]
swept = sweep.run("toy", "e1", config)
print(json.dumps([swept.rows, swept.n_cells, swept.n_kept]))
"""


def code(n: int = 2, pause: float = 0.0, powers: tuple[int, ...] = (1, 2, 3)) -> str:
    return RUN.format(n=n, pause=pause, powers=powers)


def table(out: str) -> str:
    """Return the rows of what a run printed, to the byte."""
    return json.dumps(json.loads(out)[0])


def trace(toy) -> list[str]:
    path = toy.root / "trace"
    return path.read_text().splitlines() if path.exists() else []


def test_processes_give_the_rows_of_the_serial_run_in_its_order(toy) -> None:
    serial = toy.python(code())
    parallel = toy.python(code(), REPRISE_JOBS="2", REPRISE_FRESH="1")
    assert serial == parallel


def test_more_seeds_compute_only_what_is_new(toy) -> None:
    env = {"TOY_TRACE": str(toy.root / "trace")}
    toy.python(code(2), **env)
    rows = toy.python(code(3), **env)
    assert len(trace(toy)) == 9
    assert trace(toy)[6:] == ["(1,) 2", "(2,) 2", "(3,) 2"]
    toy.python(code(3), **env)
    assert len(trace(toy)) == 9
    fresh = toy.python(code(3), REPRISE_FRESH="1", **env)
    assert len(trace(toy)) == 18
    assert table(fresh) == table(rows)


def test_changed_code_keeps_no_cell_and_changed_docstrings_keep_all(toy) -> None:
    env = {"TOY_TRACE": str(toy.root / "trace")}
    toy.python(code(), **env)
    toy.write("method.py", 'def power(x, p):\n    """Doc."""\n    return x**p  # why\n')
    toy.python(code(), **env)
    assert len(trace(toy)) == 6
    toy.write("method.py", "def power(x, p):\n    return x**p + 1\n")
    toy.python(code(), **env)
    assert len(trace(toy)) == 12


def test_a_damaged_kept_cell_is_computed_again(toy) -> None:
    env = {"TOY_TRACE": str(toy.root / "trace")}
    before = toy.python(code(), **env)
    kept = sorted((toy.root / "cache").rglob("*.json"))
    assert len(kept) == 6
    kept[0].write_text(kept[0].read_text().replace('"value": ', '"value": 1'))
    kept[1].write_text(kept[1].read_text()[:20])
    after = toy.python(code(), **env)
    assert len(trace(toy)) == 8
    assert table(before) == table(after)


def test_an_experiment_may_add_cells_once_it_sees_its_first_rows(toy) -> None:
    toy.write(
        "experiments/e1.py",
        """
from dataclasses import replace

def cells(config, rows):
    best = max((r for r in rows), key=lambda r: r["value"], default=None)
    grid = [replace(config, powers=(p,), n_seeds=1) for p in config.powers]
    if len(rows) < len(grid):
        return grid
    return grid + [replace(config, powers=(best["power"],))]

def seeds(cell):
    return range(cell.n_seeds) if cell.n_seeds == 1 else range(100, 100 + cell.n_seeds)

def run(config, seed):
    return [{"power": p, "seed": seed, "value": -abs(p - 2)} for p in config.powers]
""",
    )
    out = toy.python(code(2))
    assert '"power": 2, "seed": 100' in out
    assert '"power": 2, "seed": 101' in out
    assert out.count('"seed": 10') == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def run(config, seed):\n    return [{'x': [1]}]\n", "column 'x' of toy/e1"),
        ("def cells(config, rows):\n    return []\ndef run(c, s):\n    pass\n", "no cell to run"),
        (
            "def cells(config, rows):\n    return [config, config]\ndef run(c, s):\n    pass\n",
            "the same cell and seed twice",
        ),
    ],
)
def test_bad_experiments_are_refused_by_name(toy, body: str, message: str) -> None:
    toy.write("experiments/e1.py", body)
    process = toy.start(code())
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert message in err


def test_progress_is_a_line_of_json_per_finished_cell(toy) -> None:
    path = toy.root / "progress"
    toy.python(code(), REPRISE_PROGRESS=str(path))
    lines = path.read_text().splitlines()
    assert lines[0] == '{"experiment": "e1", "done": 0, "total": 6, "cached": 0}'
    assert lines[-1] == '{"experiment": "e1", "done": 6, "total": 6, "cached": 0}'
    assert len(lines) == 7


def kill_group(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_run_killed_at_ten_moments_ends_with_the_undisturbed_table(toy) -> None:
    slow = code(4, 0.08)
    undisturbed = toy.python(slow, REPRISE_CACHE=str(toy.root / "other"))
    moments = random.Random(0)
    for _ in range(10):
        process = toy.start(slow, TOY_TRACE=str(toy.root / "trace"))
        time.sleep(moments.uniform(0.2, 0.7))
        kill_group(process)
    rows = toy.python(slow, TOY_TRACE=str(toy.root / "trace"))
    assert table(rows) == table(undisturbed)
    # A cell can be computed twice only when the kill fell into it.
    assert 12 <= len(trace(toy)) <= 12 + 10


# --- Dask ------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def cluster(toy):
    """Start a real scheduler and let a test start worker processes of its own."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, src: Path | None = None, **env: str) -> subprocess.Popen[bytes]:
        environment = toy.env(**env)
        if src:
            environment |= {"PYTHONPATH": str(src), "REPRISE_ROOT": str(src.parent)}
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
            cwd=toy.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    for _ in range(200):
        try:
            sweep.check_scheduler(address, timeout=0.2)
            break
        except sweep.Unreachable:
            time.sleep(0.1)

    def worker(**more) -> subprocess.Popen[bytes]:
        return start(
            "dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", **more
        )

    yield address, worker
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_cluster_that_loses_a_worker_gives_the_serial_table(toy, cluster) -> None:
    address, worker = cluster
    victim = worker()
    worker()
    serial = toy.python(code(6, 0.15), REPRISE_CACHE=str(toy.root / "other"))
    path = toy.root / "progress"
    process = toy.start(code(6, 0.15), DASK_SCHEDULER_ADDRESS=address, REPRISE_PROGRESS=str(path))
    for _ in range(400):
        if path.exists() and path.read_text().count("\n") > 4:
            break
        time.sleep(0.05)
    os.killpg(victim.pid, signal.SIGKILL)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert out == serial
    assert path.read_text().splitlines()[-1].startswith('{"experiment": "e1", "done": 18')


def test_a_worker_with_other_code_refuses(toy, cluster) -> None:
    import shutil

    address, worker = cluster
    other = toy.root.parent / "other"
    shutil.copytree(toy.root, other)
    (other / "src/reprise/toy/method.py").write_text("def power(x, p):\n    return x\n")
    worker(src=other / "src")
    process = toy.start(code(), DASK_SCHEDULER_ADDRESS=address)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "OtherCode" in err
    assert "install the same commit on every worker" in err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nonsense", "must look like tcp://HOST:PORT, got 'nonsense'"),
        ("tcp://127.0.0.1:0x1", "must look like tcp://HOST:PORT"),
        ("tcp://127.0.0.1:{free}", "no Dask scheduler answers at"),
    ],
)
def test_an_unreachable_scheduler_is_named(address: str, message: str) -> None:
    address = address.replace("{free}", str(free_port()))
    with pytest.raises(sweep.Unreachable, match=message):
        sweep.check_scheduler(address, timeout=0.5)
