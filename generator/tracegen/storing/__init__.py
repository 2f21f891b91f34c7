"""What every command does to files: runs on disk, caches, locks, progress, programs."""
