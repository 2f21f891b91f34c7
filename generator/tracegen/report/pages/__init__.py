"""The pages of a report: collector.py draws figures and collects files, render.py fills the templates."""
