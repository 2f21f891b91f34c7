"""One module or package per file format; content decides the format, never file name or size."""
