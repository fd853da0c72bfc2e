"""Locks that need no unlocking by hand: the kernel frees them, the next holder clears what is left.

A lock is a `flock` on a file that says who holds it. When a holder is killed, its lock is free at
once, but a notebook's kernel and its workers may go on. So whoever comes next first ends those: it
knows them by a token in their environment (a kernel is a session of its own, so the holder's group
isn't enough), and the holder itself by process id and start time, so that a process that was given
the same id later is never touched.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reprise.pipeline.cells import UserError

TOKEN = "REPRISE_RUN"  # in the environment of everything that a run starts
WAIT = 3600.0  # seconds until one gives up, unless REPRISE_WAIT says otherwise
_POLL = 0.2

Holder = dict[str, object]


class Busy(UserError):
    """Somebody else still holds a lock after the time-out."""


def patience() -> float:
    """Return for how many seconds one waits for a lock: `REPRISE_WAIT`, else an hour.

    Raises
    ------
    UserError
        When the variable isn't a number.
    """
    text = os.environ.get("REPRISE_WAIT")
    try:
        return float(text) if text else WAIT
    except ValueError:
        raise UserError(f"REPRISE_WAIT must be a number of seconds, got {text!r}") from None


def started(pid: int) -> str | None:
    """Return when a process started, as a text to compare; None when there is no such process."""
    if Path("/proc/self/stat").exists():
        try:
            # The name may hold spaces and brackets; what follows its last bracket doesn't.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return None
        return None if fields[0] == "Z" else f"{boot}:{fields[19]}"
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.1f}"
    except psutil.Error:
        return None


def me(token: str) -> Holder:
    """Return what a lock says of this process as its holder."""
    return {
        "pid": os.getpid(),
        "group": os.getpgrp(),
        "started": started(os.getpid()),
        "since": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "token": token,
        "scratch": "",
    }


def read(path: Path) -> Holder | None:
    """Return who holds a lock, or held it until it was killed; None after an orderly end."""
    try:
        holder = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return holder if isinstance(holder, dict) and "pid" in holder else None


@dataclass
class Held:
    """A lock in our hands."""

    path: Path
    holder: Holder
    _file: int

    def note(self, **more: object) -> None:
        """Say more in the lock's file, for whoever comes after a kill."""
        self.holder |= more
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps(self.holder).encode(), 0)


@contextlib.contextmanager
def hold(
    path: Path,
    *,
    what: str,
    tell: Callable[[str], None] = print,
    timeout: float | None = None,
) -> Iterator[Held]:
    """Hold a lock; first wait for its holder, then end what a killed one left.

    Parameters
    ----------
    path : the lock's file; it stays
    what : what is locked, in words: "the build"
    tell : called once, with one line, when there is somebody to wait for
    timeout : seconds (default: `patience()`)

    Raises
    ------
    Busy
        After the time-out; names the holder.
    """
    timeout = patience() if timeout is None else timeout
    path.parent.mkdir(parents=True, exist_ok=True)
    file = _take(path, what, tell, timeout)
    try:
        if left := read(path):
            end(left)
        held = Held(path, me(uuid.uuid4().hex), file)
        held.note()
        try:
            yield held
        finally:
            os.ftruncate(file, 0)  # an orderly end, failed or not: nothing is left to be ended
    finally:
        os.close(file)


def _take(path: Path, what: str, tell: Callable[[str], None], timeout: float) -> int:
    """Return an open, locked file descriptor (closed in children: `exec` drops it)."""
    deadline = time.monotonic() + timeout
    told = False
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.fstat(file).st_ino == path.stat().st_ino:
                return file
            # else it was deleted (make clean) while we waited: take the new one
        except BlockingIOError:
            who = _who(read(path))
            if time.monotonic() > deadline:
                os.close(file)
                raise Busy(
                    f"gave up after {timeout:.0f} s: {what} is held by {who}; wait for it, or end "
                    "it, and try again"
                ) from None
            if not told:
                tell(f"waiting for {who}, which holds {what}")
                told = True
            time.sleep(_POLL)
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _who(holder: Mapping[str, object] | None) -> str:
    if holder is None:
        return "another process"
    since = str(holder.get("since", ""))[:19].replace("T", " ")
    return f"process {holder['pid']} (since {since})"


# --- what is left of a run --------------------------------------------------------------------


def left_of(holder: Mapping[str, object]) -> list[int]:
    """Return the processes of a holder that are alive: itself, and what carries its token."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            own = process.pid == holder.get("pid") and started(process.pid) == holder.get("started")
            token = holder.get("token")
            if (own or (token and process.environ().get(TOKEN) == token)) and (
                process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue  # ended meanwhile, or another user's
    return found


def end(holder: Mapping[str, object], *, within: float = 20.0) -> int:
    """Kill what is left of a holder, but never the calling process, until nothing is left.

    Parameters
    ----------
    holder : as `read` returns it
    within : seconds to try

    Returns
    -------
    how many were killed
    """
    killed = set()
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        # Again and again: one may start another between the list and the kill.
        alive = [pid for pid in left_of(holder) if pid != os.getpid()]
        if not alive:
            break
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.02)
    scratch = str(holder.get("scratch") or "")
    if Path(scratch).name.startswith("k-"):
        shutil.rmtree(scratch, ignore_errors=True)
    return len(killed)


def end_with(parent: int | None, holder: Mapping[str, object]) -> None:
    """End this process and all that it started when asked to (SIGTERM), or when its parent dies.

    Parameters
    ----------
    parent : process id of the parent; None to not watch it
    holder : this process's own, as in its lock
    """

    def stop(*_: object) -> None:
        end(holder)
        os._exit(143)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if parent is None:
        return

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL)
        stop()

    threading.Thread(target=watch, daemon=True, name="watch the parent").start()
