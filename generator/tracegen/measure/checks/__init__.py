"""The verdict of a run: its checks, each with finding and limit."""
