"""`tracegen completion`: prints the script that lets a shell complete commands, options and runs of tracegen."""

import click
from click.shell_completion import get_completion_class

from tracegen.cli.arguments import COMPLETE, Verb

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Verb)
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print click's script for the shell."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    script = shell_class(ctx.find_root().command, {}, "tracegen", COMPLETE)
    print(script.source_template % script.source_vars())
    return 0
