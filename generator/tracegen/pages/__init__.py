"""Pages: context.py joins analyses and charts, render.py turns them into HTML."""
