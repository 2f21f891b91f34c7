"""The demo: models with random weights, and the way from a clone to a site."""
