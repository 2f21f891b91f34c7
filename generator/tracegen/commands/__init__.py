"""One file per verb: parse, one call, print what was made."""
