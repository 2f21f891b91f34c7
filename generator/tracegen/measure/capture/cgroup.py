"""The cgroups of this process: their folders, their files, and how much memory they leave."""

from pathlib import Path

PROC = Path("/proc")


def own_cgroup(controller: str = "") -> Path | None:
    """The folder of this process in the hierarchy of a controller of version 1, or, without one, in that of version 2.

    None when there is none or it is not mounted; systems that mount both versions leave the memory controller to the
    first. Where the hierarchy has a mount of which this process sees a part only, that part is its top.
    """
    lines = [line.split(":", 2) for line in (text_of(PROC / "self/cgroup") or "").splitlines()]
    name = next((line[2] for line in lines if len(line) == 3 and controller in line[1].split(",")), None)
    for line in (text_of(PROC / "self/mountinfo") or "").splitlines():
        fields, _, rest = line.partition(" - ")
        words = rest.split()
        if name is None or words[:1] != ["cgroup" if controller else "cgroup2"]:
            continue
        if controller and controller not in words[-1].split(","):
            continue
        top, mounted = fields.split()[3:5]
        folder = Path(mounted) / name.removeprefix(top).lstrip("/")
        if (folder / "cgroup.procs").exists() and ".." not in name:
            return folder
    return None


def headroom_bytes() -> int | None:
    """Bytes that this process can still take within the limits of its cgroup and the parents; None without a limit.

    Pages of the page cache count as free, as the kernel can drop them. Cgroups of version 1 are ignored.
    """
    cgroup, headrooms = own_cgroup(), []
    for folder in (cgroup, *cgroup.parents) if cgroup else ():
        limit, used = number_of(folder / "memory.max"), number_of(folder / "memory.current")
        if limit is not None and used is not None:
            cache = sum(field_of(folder / "memory.stat", name) or 0 for name in ("active_file", "inactive_file"))
            headrooms.append(max(0, limit - used + cache))
    return min(headrooms, default=None)


def text_of(path: Path) -> str | None:
    """The content of a file; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def words_of(path: Path) -> list[str]:
    """The words of a file; an empty list when it cannot be read."""
    return (text_of(path) or "").split()


def number_of(path: Path) -> int | None:
    """The number in a file; None for `max`, or when it cannot be read."""
    text = (text_of(path) or "").strip()
    return int(text) if text.isdigit() else None


def field_of(path: Path, name: str) -> int | None:
    """The number after `name` in a file of lines `name number` or `name: number unit`; None when it is missing."""
    for line in (text_of(path) or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[0].rstrip(":") == name and words[1].isdigit():
            return int(words[1])
    return None
