"""Our own cgroup of version 2: where its folder is, what its files say, and what it leaves us of memory."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


def own_cgroup() -> Path | None:
    """The folder of our cgroup in version 2; null where there is none that we can see."""
    lines = (text_of(PROC / "self/cgroup") or "").splitlines()
    name = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    for line in (text_of(PROC / "self/mountinfo") or "").splitlines():
        fields, _, kind = line.partition(" - ")
        if name is None or not kind.startswith("cgroup2 "):
            continue
        top, mounted = fields.split()[3:5]
        folder = Path(mounted) / name.removeprefix(top).lstrip("/")
        if (folder / "cgroup.procs").exists() and ".." not in name:
            return folder
    return None


def version_1() -> list[str]:
    """The controllers that version 1 of cgroups has taken."""
    lines = (text_of(PROC / "self/cgroup") or "").splitlines()
    return [controller for line in lines for controller in line.split(":")[1].split(",")]


def headroom_bytes() -> int | None:
    """Bytes that the limits of our cgroup and those above it leave us, the page cache given up; null: no limit.

    Version 1 is not asked.
    """
    own, found = own_cgroup(), []
    for folder in (own, *own.parents) if own else ():
        limit, used = number_of(folder / "memory.max"), number_of(folder / "memory.current")
        if limit is not None and used is not None:
            cache = sum(field_of(folder / "memory.stat", name) or 0 for name in ("active_file", "inactive_file"))
            found.append(max(0, limit - used + cache))
    return min(found, default=None)


def text_of(path: Path) -> str | None:
    """What a file holds; null where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def words_of(path: Path) -> list[str]:
    """Its words; none where it cannot be read."""
    return (text_of(path) or "").split()


def number_of(path: Path) -> int | None:
    """The number that a file holds; null for `max`, and where it cannot be read."""
    text = (text_of(path) or "").strip()
    return int(text) if text.isdigit() else None


def field_of(path: Path, name: str) -> int | None:
    """The number behind a name, as in memory.events; null where it is not told."""
    for line in (text_of(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None
