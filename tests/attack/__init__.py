"""The attack: commands in odd surroundings, at once, killed, without room, on hostile files: `make test-all`.

A case is one try. What it demands is always the same: a documented exit code, a message instead of a traceback, no
leftover, and not a byte changed of what was stored before.
"""
