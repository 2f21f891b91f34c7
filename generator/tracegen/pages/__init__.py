"""Pages: collector.py draws figures and keeps files, render.py prints them with the templates."""
