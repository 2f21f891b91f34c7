from benchmarks.page_text import text_of


def test_paragraphs_cells_and_drawings_are_lines() -> None:
    body = """<h1>Memory</h1><p class="x">0&nbsp;of <b>43</b> tensors,\n not one</p><script>no</script><style>no</style>
    <svg><title>A heatmap</title><text>12</text><text>token 1</text><text>token 1</text></svg>
    <table><tr><th>Group</th><th>Size <small>MiB</small></th></tr><tr><td>norm</td><td>0.5</td></tr></table>
    <figcaption>n = 2</figcaption> the end"""
    assert text_of(body) == [
        "Memory",
        "0 of 43 tensors, not one",
        "[drawing] A heatmap · token 1",
        "Group | Size MiB",
        "norm | 0.5",
        "n = 2",
        "the end",
    ]


def test_long_tables_are_cut_with_all_that_they_hold() -> None:
    inner = "<table><tr><td>operand</td></tr></table>"
    rows = "".join(f"<tr><td>{number}{inner}</td></tr>" for number in range(4))
    assert text_of(f"<table>{rows}</table><p>after</p>", most_rows=2) == [
        *("0", "operand", "1", "operand"),
        "[2 more rows]",
        "after",
    ]
    assert text_of("<select><option>a</option><option>b</option></select>", most_rows=1) == ["a", "[1 more rows]"]
