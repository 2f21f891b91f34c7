"""One file per question: tables in, a table out; no input or output."""
