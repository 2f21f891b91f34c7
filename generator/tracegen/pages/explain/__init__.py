"""What explains each figure and table: what it shows and counts, how to read it, the lines that make its data."""
