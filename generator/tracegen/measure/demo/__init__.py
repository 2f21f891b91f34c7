"""Models with random weights: the shapes, and the numbers in them."""
