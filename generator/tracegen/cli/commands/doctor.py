"""`tracegen doctor`: says what this machine lets tracegen record and set, and what to do for more."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from tracegen.cli.arguments import Verb


@click.command("doctor", cls=Verb)
@click.option("--json", "as_json", is_flag=True)
def command(as_json: bool) -> int:
    """Print each finding with what was found, and below what to do where it says no."""
    from tracegen.cli.columns import aligned
    from tracegen.measure.doctor import findings

    found = list(findings())
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], indent=1))
        return 0
    columns: list[tuple[str, list[str]]] = [
        ("", [str(finding.state) for finding in found]),
        ("what", [finding.what for finding in found]),
        ("found", [finding.found for finding in found]),
    ]
    print("\n".join(aligned(columns)))
    advised = [finding for finding in found if finding.advice]
    if advised:
        print("\n" + "\n".join(f"{finding.what}: {finding.advice}" for finding in advised))
    return 0
