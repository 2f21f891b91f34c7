"""What would help: settings that act on causes, and how long a token would take with them, as an interval."""
