"""A run as pages: its figures, their words, and the pages that hold them."""
