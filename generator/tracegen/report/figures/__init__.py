"""Figures and tables: one object each, with its data, chart, words, checks and explanation."""
