"""`tracegen completion`: prints the script that lets a shell complete commands, options and runs of tracegen."""

import click
from click.shell_completion import get_completion_class

from tracegen.cli.arguments import COMPLETE, Choice, Command
from tracegen.cli.commands import VERBS

SHELLS = ("bash", "zsh", "fish")
EPILOG = (
    'bash: put `eval "$(tracegen completion bash)"` into ~/.bashrc; zsh: put the same with zsh into ~/.zshrc; '
    "fish: `tracegen completion fish > ~/.config/fish/completions/tracegen.fish`. It works in new shells."
)


@click.command("completion", cls=Command, help=VERBS["completion"], epilog=EPILOG)
@click.argument("shell", metavar="SHELL", type=Choice(SHELLS), help="The shell: bash, zsh or fish.")
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print click's script for the shell."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    script = shell_class(ctx.find_root().command, {}, "tracegen", COMPLETE)
    print(script.source_template % script.source_vars())
    return 0
