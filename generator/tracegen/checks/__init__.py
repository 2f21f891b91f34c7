"""The verdict: what each check of a run found, and its limit."""
