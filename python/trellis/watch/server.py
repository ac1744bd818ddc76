"""A server at the loopback address shows the page of a run on this machine alone; it only answers GET."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ..ground.errors import Error, NotAvailable
from .look import Watcher
from .page import render_body, render_page
from .view_model import Watched

ADDRESS = "127.0.0.1"


class PageServer(ThreadingHTTPServer):
    """This server has ``/`` (the page), ``/body`` (the part that changes) and ``/data.json``.

    Parameters
    ----------
    watcher
        Looks at the run, one request at a time.
    port
        0: the system chooses one.

    Raises
    ------
    NotAvailable
        The port is taken.
    """

    daemon_threads = True

    def __init__(self, watcher: Watcher, port: int = 0) -> None:
        self._watcher, self._one_at_a_time = watcher, threading.Lock()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise NotAvailable(
                f"port {port} of {ADDRESS}: expected a free one, found {error.strerror}; --port names another"
            ) from error

    @property
    def url(self) -> str:
        """Return the address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def look(self) -> Watched:
        """Look at the run."""
        with self._one_at_a_time:
            return self._watcher.look()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "trellis", ""

    def do_GET(self) -> None:
        """Answer with a look at the run."""
        answers: dict[str, tuple[str, Callable[[Watched], str]]] = {
            "/": ("text/html", render_page),
            "/body": ("text/html", render_body),
            "/data.json": ("application/json", lambda watched: json.dumps(watched.to_json())),
        }
        own = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        if self.headers.get("Host") not in own:  # a foreign page whose name leads here may not read it
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if self.path not in answers:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, render = answers[self.path]
        try:
            text = render(self.server.look())
        except (Error, OSError) as error:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(error))
            return
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the terminal belongs to the user."""
