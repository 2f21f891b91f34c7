"""Tells machines apart without their names."""

import hashlib
import hmac
import socket
from functools import cache
from pathlib import Path

_DIGITS = 8


@cache
def machine_id(path: Path = Path("/etc/machine-id")) -> str:
    """Eight hexadecimal digits that stay the same on this machine, and tell nothing about it.

    They are a keyed hash of systemd's machine-id, as its manual asks of programs that publish one; of the name of the
    host where there is no machine-id. Containers of one image have the same.
    """
    try:
        secret = path.read_bytes().strip()
    except OSError:
        secret = b""
    return hmac.new(secret or socket.gethostname().encode(), b"tracegen", hashlib.sha256).hexdigest()[:_DIGITS]
