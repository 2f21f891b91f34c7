/* Citations of a page with what is chosen on it, and of each of its figures, in the form that the reader chose. */

/* Signs that LaTeX has by name; BibTeX counts braces, also those behind a backslash. */
var LATEX = {
  "\\": "\\textbackslash{}",
  "~": "\\textasciitilde{}",
  "^": "\\textasciicircum{}",
  "{": "\\textbraceleft{}",
  "}": "\\textbraceright{}"
};
function inLatex(text) {
  return text.replace(/\s+/g, " ")
    .trim()
    .replace(/[\\~^{}$&#_%]/g, function(sign) { return LATEX[sign] || "\\" + sign; });
}

/* A version cited with `words` for a part of it at this address. `of` is what the page says of the version; the key of
   an entry is that of the version's own entry, with `part` behind it. */
function citation(form, of, words, url, part) {
  var named = of.cited + (words && ", " + words), key = of.cited.replace("@", "-");
  url = url.replace(/[{}()\\^`|<>" ]/g, function(sign) { return "%" + sign.charCodeAt(0).toString(16).toUpperCase(); });
  if (form === "Markdown") { return "[" + named.replace(/[\\`*_[\]<>&|]/g, "\\$&") + "](" + url + ")"; }
  if (form === "LaTeX") {
    return "\\cite" + (words && "[{" + inLatex(words) + "}]") + "{" + key + "}" +
      (isAddress(url) ? " \\url{" + url + "}" : "");
  }
  part = part || (words && "-" + words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, ""));
  if (form === "BibTeX") { return inBibtex(of, key + part, words, url); }
  if (form === "CSL-JSON") { return JSON.stringify([inCsl(of, of.cited + part, words, url)], null, 1); }
  return named + (/[.?!]$/.test(named) ? " " : ". ") + url;
}

/* Where this page of the version lies that was published, with this hash: not where the reader has a copy of it. Of a
   file whose version has no address it is the place inside the version: a folder of the reader tells others nothing. */
function publishedAt(bar, hash) {
  var page = location.href.split("#")[0], root = new URL(bar.dataset.up || "./", page).href;
  var at = (bar.dataset.url || "").replace(/index\.html$/, ""), inside = page.indexOf(root) === 0;
  return (inside && (at || location.protocol === "file:") ? at + page.slice(root.length) : page) + hash;
}

/* Else it is a place inside a version that has no address. */
function isAddress(url) { return /^[a-z]+:/.test(url); }

function titleOf(of, words) { return of.question + (words && ": " + words); }

/* What lies outside of an entry is a comment; citation.py writes the same line. */
var NO_ADDRESS = "% No url: set site_url in mkdocs.yml before a version is published.\n";
function inBibtex(of, key, words, url) {
  var lines = [
    of.author ? ["author", "{" + inLatex(of.author) + "}"] : ["key", inLatex(of.cited)],
    ["title", "{" + inLatex(titleOf(of, words)) + "}"], ["year", of.created.slice(0, 4)],
    ["date", of.created.slice(0, 10)], ["version", of.cited.split("@v")[1]],
    ["howpublished", "tracegen report " + inLatex(of.cited)]
  ];
  lines.push(isAddress(url) ? ["url", url] : ["note", inLatex(url)]);
  return (isAddress(url) ? "" : NO_ADDRESS) + "@misc{" + key + ",\n" +
    lines.map(function(line) { return "  " + line[0] + " = {" + line[1] + "},\n"; }).join("") + "}";
}

function inCsl(of, key, words, url) {
  var version = of.cited.split("@v")[1];
  var entry = { id: key, type: "dataset", title: titleOf(of, words), version: version, number: of.cited };
  if (of.author) { entry.author = [{ literal: of.author }]; }
  entry.genre = "tracegen report";
  entry.issued = { "date-parts": [of.created.slice(0, 10).split("-").map(Number)] };
  entry[isAddress(url) ? "URL" : "note"] = url;
  return entry;
}

function formOf(bar) {
  var form = bar.querySelector("[data-tg=form]");
  return form ? form.value : "text";
}

/* The downloads of each figure end with a button that copies its citation, once they are opened. */
function citable(bar) {
  document.addEventListener("toggle", function(event) {
    var menu = event.target, figure = menu.closest("figure[id]"), item, button, said;
    if (!menu.matches("details.tg-links") || !figure || menu.querySelector("button")) { return; }
    item = document.createElement("li");
    button = document.createElement("button");
    said = document.createElement("span");
    button.type = "button";
    button.textContent = "copy citation";
    said.setAttribute("role", "status");
    button.addEventListener("click", function() {
      var title = figure.querySelector(".tg-title"), url = publishedAt(bar, "#" + figure.id);
      var question = title ? title.firstChild.textContent.trim() : "";
      copied(citation(formOf(bar), bar.dataset, question, url, "-" + figure.id), said);
    });
    item.append(button, " ", said);
    menu.querySelector("ul").append(item);
  }, true);
}
