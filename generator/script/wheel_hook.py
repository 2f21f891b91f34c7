"""A wheel for one platform, where `make wheel` asks for one: it has the library to attach, compiled.

Without that, a wheel is for all platforms, and the library is compiled where it is first needed.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the folder `TRACEGEN_ATTACHED` to a wheel for the platform `TRACEGEN_PLATFORM`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change what is built, before it is."""
        if attached := os.environ.get("TRACEGEN_ATTACHED"):
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{os.environ['TRACEGEN_PLATFORM']}"
            build_data["force_include"][attached] = "tracegen/_data/native/attached"
