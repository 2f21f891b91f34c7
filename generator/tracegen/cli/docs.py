"""`python -m tracegen.cli.docs` writes docs/commands.md and docs/settings.md from the code."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tracegen.cli.arguments import CONTEXT, paragraphs
from tracegen.cli.main import DESCRIPTION, EXIT_CODES, tracegen
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import GROUPS, REQUIRED, SETTINGS
from tracegen.contract.matrix import OWN
from tracegen.contract.prose import joined, sections
from tracegen.contract.setting import Kind
from tracegen.storing import resources
from tracegen.storing.store import write_text

GENERATED = "<!-- Made by `python -m tracegen.cli.docs` from the code; change it there. -->"
INTRO = Path(__file__).with_name("docs.md")  # what stands above the settings of docs/settings.md


def pages() -> dict[str, str]:
    """File name in `docs/` -> content."""
    return {"commands.md": _lines(_commands()), "settings.md": _lines(_settings())}


def _lines(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _commands() -> Iterator[str]:
    yield from (GENERATED, "", "# The commands", "", DESCRIPTION, "", EXIT_CODES, "")
    yield "Options may stand in any order; long ones cannot be abbreviated. Each command has `--help`, and `--debug`,"
    yield "which prints the traceback of an error."
    with click.Context(tracegen, info_name="tracegen", **CONTEXT) as root:  # click keeps the -h of the first context
        for name in tracegen.list_commands(root):
            command = tracegen.get_command(root, name)
            assert command is not None
            yield from _command(command, root)


def _command(command: click.Command, parent: click.Context, level: int = 2) -> Iterator[str]:
    """The section of a command: heading, usage, help, a table of its parameters; then those of its subcommands."""
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
        for subcommand in command.commands.values() if isinstance(command, click.Group) else ():
            yield from _command(subcommand, context, level + 1)


def _row(param: click.Parameter, context: click.Context) -> str:
    """The table row of a parameter: `| `-n`, `--tokens N` | Tokens to generate. |`."""
    metavar = param.make_metavar(context)
    meaning = str(getattr(param, "help", ""))
    if isinstance(param, click.Argument):
        names = [metavar]
    else:
        names = [*param.opts[:-1], f"{param.opts[-1]} {'' if getattr(param, 'is_flag', False) else metavar}".strip()]
        meaning += " Required." if param.required else ""
        meaning += f" Default: `{param.default}`." if getattr(param, "show_default", None) else ""
    return f"| {', '.join(f'`{_cell(name)}`' for name in names)} | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _settings() -> Iterator[str]:
    yield from (GENERATED, "", "# The settings of an experiment", "", sections(INTRO)["The settings of an experiment"])
    for title in GROUPS:
        if title == GROUPS[-1]:
            yield from ("", "## Matrix", "", sections(INTRO)["Matrix"])
            for key, kind in OWN.items():
                meaning, _, example = sections(INTRO)[f"matrix.{key}"].rpartition("\n\n    ")
                yield from _setting(key, kind, joined(meaning), example)
        yield from ("", f"## {title}")
        yield from ("", sections(INTRO)[title]) if title in sections(INTRO) else ()
        for key, setting in SETTINGS.items():
            if setting.group == title:
                yield from _setting(key, setting, setting.meaning, f"{key} = {setting.example}", default_of(key))


def _setting(key: str, of: Kind, meaning: str, example: str, default: str = "") -> Iterator[str]:
    yield from ("", f"### {key}", "", meaning, "", "| | |", "|---|---|", f"| type | {of.kind} |")
    yield f"| allowed | {of.allowed} |"
    yield from [f"| default | {default} |"] if default else []
    yield f"| example | `{_cell(example)}` |"


def default_of(key: str) -> str:
    """The default of a setting in TOML, or in words when there is none."""
    value, without = SETTINGS[key].default, "it is needed" if key in REQUIRED else SETTINGS[key].without
    if without:
        return f"none: {without}"
    return "none" if value is None or value == () else f"`{json.dumps(value)}`"


def main() -> int:
    """Write the pages of this checkout that are out of date. Returns the exit code."""
    root = resources.folder("templates").parent
    if not (root / "pyproject.toml").is_file():
        print(f"{root}: is not a checkout of tracegen; run this from a checkout", file=sys.stderr)
        return SettingsError.exit_code
    for name, text in pages().items():
        path = root / "docs" / name
        if _text_of(path) != text:
            write_text(path, text)
            print(f"{path}: written")
    return 0


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
