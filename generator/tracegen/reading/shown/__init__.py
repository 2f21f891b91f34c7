"""What `tracegen show` prints of a run: key figures as numbers and in words, tables, checks."""
