"""What a report is made of: blocks as plain data, their renderers (HTML, Markdown, TeX), and the files beside them."""
