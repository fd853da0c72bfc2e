"""Look at the book: serve the finished site, or open chapters in JupyterLab."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from reprise.pipeline.cells import UserError


def serve(root: Path, port: int) -> None:
    """Serve `_build/html` on this machine until interrupted.

    Raises
    ------
    UserError
        When there is no site, or the port is taken.
    """
    import functools
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    site = root / "_build" / "html"
    if not (site / "index.html").is_file():
        raise UserError("there is no _build/html/index.html: run `make book` first")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(site))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"can't serve on port {port} ({error}): choose another --port") from None
    print(f"http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C stops)", flush=True)
    with server:
        server.serve_forever()


def lab(root: Path, port: int, *, browser: bool) -> None:
    """Replace this process by JupyterLab in the repository, with our labconfig in front."""
    config = [str(root / ".jupyter"), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    env = {
        **os.environ,
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, config)),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
    options = [f"--port={port}", f"--ServerApp.root_dir={root}"]
    if not browser:
        options.append("--no-browser")
    if os.geteuid() == 0:  # in a container one often is; it listens on this machine only
        options.append("--allow-root")
    os.chdir(root)
    os.execve(sys.executable, [sys.executable, "-m", "jupyterlab", *options], env)
