"""A web server of a folder, as a browser meets a site that is published."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Quiet(SimpleHTTPRequestHandler):
    """Without a log; pages that hold `pause_at` stop there for a while, as over a slow line."""

    def __init__(self, *args: Any, pause_at: bytes = b"", **options: Any) -> None:
        self.pause_at = pause_at
        super().__init__(*args, **options)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        if not self.pause_at or not self.path.endswith(".html"):
            shutil.copyfileobj(source, outputfile)
            return
        before, *after = source.read().split(self.pause_at, 1)
        outputfile.write(before)
        outputfile.flush()
        for rest in after:
            time.sleep(0.5)
            outputfile.write(self.pause_at + rest)


@contextmanager
def served(folder: Path, pause_at: bytes = b"") -> Iterator[str]:
    """Serve `folder` on this machine alone; gives its address, ending in a slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder), pause_at=pause_at))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
