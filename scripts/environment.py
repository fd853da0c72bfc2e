"""Make .venv what the requirements say; do nothing when it is.

Run by the Makefile with any Python, before anything is installed: standard library only, and
syntax that an old Python can read, so that it can say that it is too old.
"""
# ruff: noqa: UP031, UP036

import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "bin")
STAMP = os.path.join(VENV, "installed")
LOG = os.path.join(VENV, "install.log")
INPUTS = ("requirements.txt", "requirements.lock", "pyproject.toml")


def wanted():
    """Return the digest of what .venv depends on: the requirements and this place."""
    digest = hashlib.sha256(ROOT.encode())
    for name in INPUTS:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def current():
    """Return whether .venv was finished for what is wanted now."""
    try:
        with open(STAMP) as file:
            return file.read() == wanted() and os.path.exists(os.path.join(BIN, "reprise"))
    except OSError:
        return False


def stop(message, code=2):
    """Say what to do and leave."""
    sys.stderr.write(message + "\n")
    sys.exit(code)


def run(*command):
    """Run a step of the installation; its talk goes to the log."""
    environment = dict(os.environ, PIP_ROOT_USER_ACTION="ignore", PIP_DISABLE_PIP_VERSION_CHECK="1")
    with open(LOG, "ab") as log:
        code = subprocess.call(command, stdout=log, stderr=log, cwd=ROOT, env=environment)
    if code:
        with open(LOG, "rb") as log:
            lines = log.read().decode("utf-8", "replace").splitlines()
        tail = [line for line in lines if not line.startswith("WARNING:")][-8:]
        message = "Installing failed; all of it is in .venv/install.log. Run make again."
        stop("\n".join([*tail, message]), code=1)


def main():
    """Create .venv, install the requirements under the lock and the package, leave a stamp."""
    if current():
        return
    if sys.version_info < (3, 11):
        version = "%d.%d" % sys.version_info[:2]
        stop("Reprise needs Python 3.11 or newer, this is %s: make PYTHON=python3.11 ..." % version)
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        stop(
            "This Python lacks venv: install it (Debian: apt-get install python3-venv), or name "
            "another Python: make PYTHON=..."
        )
    import fcntl

    os.makedirs(VENV, exist_ok=True)
    with open(os.path.join(VENV, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if current():
            return  # another make did it while this one waited
        if os.path.exists(STAMP):
            os.remove(STAMP)
        if os.path.exists(LOG):
            os.remove(LOG)
        print("Installing the environment into .venv (once; some minutes) ...", flush=True)
        python = os.path.join(BIN, "python")
        try:
            usable = subprocess.call([python, "-c", "import pip"], stderr=subprocess.DEVNULL) == 0
        except OSError:
            usable = False
        if not usable:
            run(sys.executable, "-m", "venv", "--clear", VENV)
        pip = (python, "-m", "pip", "install", "--quiet")
        run(*pip, "-r", "requirements.txt", "-c", "requirements.lock")
        run(*pip, "--no-deps", "-e", ".")
        with open(STAMP + ".part", "w") as file:
            file.write(wanted())
        os.replace(STAMP + ".part", STAMP)


if __name__ == "__main__":
    main()
