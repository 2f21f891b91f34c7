"""The policy of our pages in a site: which scripts of a theme it names, and where it stands."""

import pytest
from mkdocs.livereload import LiveReloadServer

from tracegen.site.policy import hashed, with_policy
from tracegen.site.serving import guard

BEFORE = """<!doctype html>
<html lang="en"><head>
<meta charset="utf-8"><title>t</title>
<link rel="preconnect" href="https://fonts.example" crossorigin>
<script src="../a.js"></script>
<script>first()</script><SCRIPT type="text/javascript">second()</SCRIPT>
<script type="application/json" id="data">{}</script></head><body>"""
AFTER = "<script type=module>third()\r\n</script><a href='https://elsewhere.example/'>x</a></body></html>"


def policy_of(page: str) -> dict[str, list[str]]:
    text = page.partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    return {name: words for name, *words in (part.split() for part in text.split("; "))}


def test_scripts_of_the_theme_are_named_and_nothing_else() -> None:
    named = [hashed("first()"), hashed("second()"), hashed("third()\n")]
    policy = policy_of(with_policy(BEFORE, AFTER))
    hosts = ["'self'", "file:", "https://fonts.example"]
    assert policy["script-src"] == [*hosts, *named] and policy["default-src"] == hosts
    assert policy["object-src"] == policy["base-uri"] == ["'none'"]
    assert hashed("first()") == "'sha256-fDYmfWjvur9AxjhDbjHe6RvExc05MbXhhrbgz2vvy/A='"  # by openssl


@pytest.mark.parametrize("head", ["<head>", '<head data-x="1">', '<head>\n  <meta charset="utf-8">', "<HEAD>"])
def test_the_policy_stands_before_all_that_it_is_for(head: str) -> None:
    made = with_policy(f"<html>{head}<script>a()</script></head><body>", "</body></html>")
    assert made.startswith(f'<html>{head}\n<meta http-equiv="Content-Security-Policy"')


def test_a_page_that_is_served_names_the_script_that_reloads_it() -> None:
    server = LiveReloadServer(lambda: None, "127.0.0.1", 0, ".")
    try:
        guard(server)
        page = with_policy("<html><head></head><body>", "</body></html>").encode()
        script = server._inject_js_into_html(page, 7).decode()
        code = script.partition("<script>")[2].partition("</script>")[0]
        assert "livereload(7, " in code and hashed(code) in policy_of(script)["script-src"]
        assert server._inject_js_into_html(b"<body></body>", 7).count(b"livereload(7, ") == 1
    finally:
        server.server_close()
