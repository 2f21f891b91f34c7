"""`python -m tracegen.docs`: docs/commands.md and docs/settings.md, from the command line and the settings themselves.

`--check` writes nothing, and ends with 1 when one of them is not what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from tracegen import resources
from tracegen.arguments import CONTEXT, paragraphs
from tracegen.cli import DESCRIPTION, EXIT_CODES, tracegen
from tracegen.errors import CheckError, SettingsError
from tracegen.model import Experiment
from tracegen.setting_keys import KEYS, LIMITS, REQUIRED, Setting
from tracegen.store import write_text

MADE = "<!-- Made by `python -m tracegen.docs` from the code; change it there. -->"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "What is asked": ("question", "model", "prompt", "prompt_file", "tokens"),
    "How llama.cpp is called": (
        "seed", "threads", "context", "ubatch", "warmup", "repack", "mmap", "flash_attention", "flags",
    ),
    "What it is measured under": (
        "prefault", "page_cache", "residency", "processors", "nice", "mlock_gb", "memory_limit_gb",
    ),
    "What becomes of it": ("private", "repeat"),
}  # fmt: skip
SETTINGS_INTRO = """\
An experiment is a folder `experiments/NAME` with a file `experiment.toml`; `tracegen run NAME` runs it. The name has 1
to 64 letters, digits, '.', '_' and '-', and begins with a letter or digit. A setting that is misspelt or not allowed is
refused before anything runs, with all other faults of the file.

```toml
question = "Which bytes does a token read?"
model = "demo"
prompt = "The first book says"
tokens = 16
```

These four are needed; the others have defaults.
"""


def pages() -> dict[str, str]:
    """Every page by its name in `docs/`."""
    return {"commands.md": _lines(_commands()), "settings.md": _lines(_settings())}


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _commands() -> Iterator[str]:
    yield from (MADE, "", "# The commands", "", DESCRIPTION, "", EXIT_CODES, "")
    yield "Options stand in any order, and are written in full. Each command takes `--help`, and `--debug`, which shows"
    yield "where an error comes from."
    with click.Context(tracegen, info_name="tracegen", **CONTEXT) as root:  # click keeps the -h of the first context
        for name in tracegen.list_commands(root):
            command = tracegen.get_command(root, name)
            assert command is not None
            yield from _command(command, root)


def _command(command: click.Command, parent: click.Context, level: int = 2) -> Iterator[str]:
    """A heading, the usage, what it does, and a table of what it takes; then the commands below it."""
    with click.Context(command, parent=parent, info_name=command.name) as context:
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        yield from ("", f"{'#' * level} {context.command_path}", "", "```console", usage, "```", "")
        yield "\n\n".join(paragraphs(command))
        rows = [_row(param, context) for param in command.params if not getattr(param, "hidden", False)]
        if rows:
            yield from ("", "| | |", "|---|---|", *rows)
        if examples := getattr(command, "examples", ()):
            yield from ("", "```console", *examples, "```")
        if command.epilog:
            yield from ("", command.epilog)
        for one in command.commands.values() if isinstance(command, click.Group) else ():
            yield from _command(one, context, level + 1)


def _row(param: click.Parameter, context: click.Context) -> str:
    """`| `-n`, `--tokens N` | Tokens to generate. |`"""
    metavar = param.make_metavar(context)
    told = str(getattr(param, "help", ""))
    if isinstance(param, click.Argument):
        names = [metavar]
    else:
        names = [*param.opts[:-1], f"{param.opts[-1]} {'' if getattr(param, 'is_flag', False) else metavar}".strip()]
        told += " Required." if param.required else ""
        told += f" Default: `{param.default}`." if getattr(param, "show_default", None) else ""
    return f"| {', '.join(f'`{_cell(name)}`' for name in names)} | {_cell(told)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _settings() -> Iterator[str]:
    yield from (MADE, "", "# The settings of an experiment", "", SETTINGS_INTRO.rstrip())
    for title, keys in GROUPS.items():
        yield from ("", f"## {title}")
        for key in keys:
            yield from _setting(key, KEYS[key])
    yield from ("", "## Limits", "", f"The table `[limits]`. {KEYS['limits'].meaning}")
    for key, setting in LIMITS.items():
        yield from _setting(key, setting)


def _setting(key: str, setting: Setting) -> Iterator[str]:
    yield from ("", f"### {key}", "", setting.meaning, "", "| | |", "|---|---|", f"| type | {setting.kind} |")
    yield from (f"| allowed | {setting.allowed} |", f"| default | {default_of(key)} |")
    yield f"| example | `{_cell(setting.example)}` |"


def default_of(key: str) -> str:
    """The default of a setting, as it would be written in TOML."""
    if key in REQUIRED:
        return "none: it is needed"
    if key in ("prompt", "prompt_file"):
        return "none: one of `prompt` and `prompt_file` is needed"
    value = Experiment.__dataclass_fields__[key].default
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def main(arguments: Sequence[str]) -> int:
    """Write the pages of this checkout, or with `--check` say which are not as they would be written."""
    root = resources.folder("templates").parent
    if not (root / "pyproject.toml").is_file():
        print(f"{root}: is no checkout of tracegen; its documentation is written there", file=sys.stderr)
        return SettingsError.exit_code
    stale = {root / "docs" / name: text for name, text in pages().items() if _held(root / "docs" / name) != text}
    for path, text in stale.items():
        if "--check" in arguments:
            print(f"{path}: is not what the code says; run python -m tracegen.docs")
        else:
            write_text(path, text)
            print(f"{path}: written")
    return CheckError.exit_code if stale and "--check" in arguments else 0


def _held(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
