"""The reader of model files."""
