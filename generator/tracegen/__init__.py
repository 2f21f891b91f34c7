"""tracegen: what a model really does to memory and disk, as pages a thesis can cite."""

__version__ = "0.1.0"
