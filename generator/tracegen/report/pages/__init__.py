"""The pages of a report: parts.py makes blocks of figures, render.py fills the templates."""
