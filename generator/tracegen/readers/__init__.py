"""One file per trace format; the format is told by content, never by file name or size."""
