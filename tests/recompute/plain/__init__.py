"""What the pages say, worked out a second time: from the raw tables, row by row, in plain loops.

Nothing here imports the analyses or the pages of tracegen, and each function begins with the definition that it
follows in words, so that a figure is wrong in both places only if its definition was misread twice.
"""
