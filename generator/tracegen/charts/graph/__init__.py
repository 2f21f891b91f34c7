"""Drawings of computation graphs as SVG."""
