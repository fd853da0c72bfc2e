from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from reprise.pipeline import locks
from reprise.pipeline.cells import UserError

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "folder" / "x.lock"


def sleeper(token: str | None = None, **options) -> subprocess.Popen:
    env = {k: v for k, v in os.environ.items() if k != locks.TOKEN}
    process = subprocess.Popen(SLEEP, env=env | ({locks.TOKEN: token} if token else {}), **options)
    while locks.started(process.pid) is None:
        time.sleep(0.01)
    time.sleep(0.2)  # until `exec` is through: before it, the environment is this process's
    return process


def test_the_lock_says_who_holds_it_and_nothing_after_an_orderly_end(lock):
    with locks.hold(lock, what="x"):
        holder = locks.read(lock)
        assert holder["pid"] == os.getpid()
        assert holder["started"] == locks.started(os.getpid())
        assert holder["token"]
    assert locks.read(lock) is None


def test_a_second_one_waits_with_one_line_and_then_gets_it(lock):
    lines, order = [], []

    def second() -> None:
        with locks.hold(lock, what="the build", tell=lines.append):
            order.append("second")

    with locks.hold(lock, what="the build"):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.7)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    (line,) = lines
    assert line.startswith(f"waiting for process {os.getpid()} (since 20")
    assert line.endswith("which holds the build")


def test_it_gives_up_after_the_time_out_and_names_the_holder(lock, monkeypatch):
    monkeypatch.setenv("REPRISE_WAIT", "0.3")
    with locks.hold(lock, what="the build"):
        again = locks.hold(lock, what="the build", tell=lambda line: None)
        with pytest.raises(locks.Busy, match=rf"gave up after 0 s.*process {os.getpid()} "), again:
            pass
        assert locks.read(lock)["pid"] == os.getpid()


def test_a_wrong_time_out_is_refused(monkeypatch):
    monkeypatch.setenv("REPRISE_WAIT", "soon")
    with pytest.raises(UserError, match="REPRISE_WAIT must be a number of seconds, got 'soon'"):
        locks.patience()


def test_a_lock_whose_file_was_deleted_meanwhile_is_taken_anew(lock):
    taken = []

    def second() -> None:
        with locks.hold(lock, what="x", tell=lambda line: None):
            taken.append(locks.read(lock) is not None)

    with locks.hold(lock, what="x"):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        lock.unlink()
    thread.join(10)
    assert taken == [True]


def test_what_a_killed_holder_left_is_ended_whatever_its_session(lock):
    code = (
        "import os, subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from reprise.pipeline import locks\n"
        "with locks.hold(Path(sys.argv[1]), what='x') as held:\n"
        "    os.environ[locks.TOKEN] = held.holder['token']\n"
        f"    child = subprocess.Popen({SLEEP!r}, start_new_session=True)\n"
        "    print(child.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE, text=True)
    orphan = int(holder.stdout.readline())
    holder.kill()
    holder.wait()
    assert locks.started(orphan)
    with locks.hold(lock, what="x"):
        assert locks.started(orphan) is None


def test_a_process_that_got_the_id_later_is_left_alone(lock):
    innocent = sleeper()
    try:
        lock.parent.mkdir()
        left = {"pid": innocent.pid, "group": innocent.pid, "started": "earlier", "token": "t"}
        lock.write_text(json.dumps(left))
        with locks.hold(lock, what="x"):
            assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_the_holder_itself_is_known_by_its_start_time():
    process = sleeper()
    assert locks.end({"pid": process.pid, "started": locks.started(process.pid)}) == 1
    assert process.wait(5) == -signal.SIGKILL


def test_only_the_same_token_counts():
    mine, other = sleeper("mine"), sleeper("other")
    try:
        assert locks.left_of({"pid": 0, "token": "mine"}) == [mine.pid]
        assert locks.end({"pid": 0, "token": "mine"}) == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        mine.wait()


def test_the_sockets_of_a_killed_run_are_removed(lock, tmp_path):
    lock.parent.mkdir()
    for name in ("k-abc", "precious"):
        (tmp_path / name).mkdir()
        left = {"pid": 0, "started": "", "token": "", "scratch": str(tmp_path / name)}
        lock.write_text(json.dumps(left))
        with locks.hold(lock, what="x"):
            pass
    assert not (tmp_path / "k-abc").exists()
    assert (tmp_path / "precious").exists()


def test_a_damaged_lock_file_is_no_obstacle(lock):
    lock.parent.mkdir()
    lock.write_text('{"pid": 1')
    with locks.hold(lock, what="x"):
        assert locks.read(lock)["pid"] == os.getpid()


@pytest.mark.parametrize("how", ["SIGTERM", "the parent's death"])
def test_a_process_ends_with_what_it_started(tmp_path, how):
    inner = (
        "import os, subprocess, sys, time\n"
        "from reprise.pipeline import locks\n"
        "holder = locks.me('inner-token')\n"
        "os.environ[locks.TOKEN] = 'inner-token'\n"
        "locks.end_with(os.getppid(), holder)\n"
        f"child = subprocess.Popen({SLEEP!r}, start_new_session=True)\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    outer = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {inner!r}])"
    parent = subprocess.Popen([sys.executable, "-c", outer], stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in parent.stdout.readline().split()]
    if how == "SIGTERM":
        os.kill(pids[0], signal.SIGTERM)
    else:
        parent.kill()
    deadline = time.monotonic() + 10
    while any(locks.started(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.kill()
    parent.wait()
