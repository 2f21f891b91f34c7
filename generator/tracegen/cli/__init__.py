"""The command line: the program, its commands and their arguments."""
