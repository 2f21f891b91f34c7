(function () {
"use strict";
var starts = [], ends = [];

var THIN = "\u202f";

function group(text) {
var parts = text.split(".");
parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
return parts.join(".");
}
function rounded(value, places) {
var digits = value.toFixed(20), cut = digits.slice(0, digits.indexOf(".") + (places ? places + 1 : 0));
var tie = /^\.?50*$/.test(digits.slice(cut.length)) && /[02468]$/.test(cut);
return group(tie ? cut : value.toFixed(places));
}
function fixed(value, scale, digits) {
return value === null || value === undefined ? "—" : rounded(value / scale, digits);
}
function exact(value) { return value === null || value === undefined ? "—" : group(String(value)); }
function make(tag, className, text) {
var element = document.createElement(tag);
if (className) { element.className = className; }
if (text !== undefined && text !== null) { element.textContent = text; }
return element;
}
function kindOfMemory(kind) {
var bar = document.querySelector("[data-copied]");
return kind === "disk" ? "mapped" : kind === "copied" && bar ? bar.dataset.copied : kind;
}
function firstWhere(n, holds) {
var low = 0, high = n, middle;
while (low < high) {
middle = (low + high) >> 1;
if (holds(middle)) {
high = middle;
} else {
low = middle + 1;
}
}
return low;
}
function addressWords() {
var words = {};
location.hash.slice(1).split("&").forEach(function(part) {
var at = part.indexOf("=");
try {
if (at > 0) { words[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); }
} catch (error) { /* no word */
}
});
return words;
}
function address() {
var words = addressWords(), numbers = {};
Object.keys(words).forEach(function(key) {
if (/^\d+$/.test(words[key])) { numbers[key] = parseInt(words[key], 10); }
});
return numbers;
}
function stateOf(id) {
var element = document.getElementById(id);
return element ? JSON.parse(element.textContent) : null;
}

window.tracegenPacked = function(name, text) {
var bytes = Uint8Array.from(atob(text), function(sign) { return sign.charCodeAt(0); });
var plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
document.currentScript.unpacked = new Response(plain).json().then(function(list) { window[name].apply(null, list); });
};

var waiting = {};
function script(path, done, failed) {
if (waiting[path]) {
waiting[path].push([done, failed]);
return;
}
waiting[path] = [[done, failed]];
var element = document.createElement("script");
function settle(i) {
return function() {
var callers = waiting[path];
delete waiting[path];
callers.forEach(function(caller) { caller[i](); });
};
}
element.src = path;
element.onload = function() { Promise.resolve(element.unpacked).then(settle(0), settle(1)); };
element.onerror = settle(1);
document.head.appendChild(element);
}

function scripts(paths, done, failed) {
var left = paths.length;
if (!left) {
done();
return;
}
paths.forEach(function(path) {
script(path, function() {
left -= 1;
if (left === 0) { done(); }
}, failed);
});
}

function pageKey(event) {
return !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
}
function paged(step) {
document.addEventListener("keydown", function(event) {
var by = { n: 1, p: -1 }[event.key];
if (by && pageKey(event)) { step(by); }
});
}

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

function publishedAt(bar, hash) {
var page = location.href.split("#")[0], root = new URL(bar.dataset.up || "./", page).href;
var at = (bar.dataset.url || "").replace(/index\.html$/, ""), inside = page.indexOf(root) === 0;
return (inside && (at || location.protocol === "file:") ? at + page.slice(root.length) : page) + hash;
}

function isAddress(url) { return /^[a-z]+:/.test(url); }

function titleOf(of, words) { return of.question + (words && ": " + words); }

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
var SELECTION = ["pass", "layer", "group", "component", "expert", "tensor", "node", "thread"];

function addressText(words) {
var keys = SELECTION.concat(Object.keys(words).filter(function(key) { return SELECTION.indexOf(key) < 0; }).sort());
return keys.filter(function(key) { return words[key] !== undefined && words[key] !== null && words[key] !== ""; })
.map(function(key) { return key + "=" + encodeURIComponent(words[key]).replace(/%2C/g, ",").replace(/%3A/g, ":"); })
.join("&");
}
function selected(words) {
var chosen = {};
SELECTION.forEach(function(key) {
if (words[key]) { chosen[key] = words[key]; }
});
return chosen;
}
function addressPlace() {
var first = location.hash.slice(1).split("&")[0];
return first.indexOf("=") < 0 ? first : "";
}
function putAddress(changes, place, still) {
var words = addressWords(), before = addressText(selected(words)) + addressPlace();
words.at = null;
Object.keys(changes).forEach(function(key) { words[key] = changes[key]; });
var at = place === undefined ? "" : place, text = [at, addressText(words)].filter(Boolean).join("&");
if (text !== location.hash.slice(1)) {
history[still || addressText(selected(words)) + at === before ? "replaceState" : "pushState"](null, "",
text ? "#" + text : location.pathname + location.search);
}
selectionBar();
}
function choose(changes) {
putAddress(changes);
window.dispatchEvent(new Event("tracegen:selected"));
}
function whenSelected(follow) {
window.addEventListener("hashchange", function() {
selectionBar();
follow(true);
});
window.addEventListener("tracegen:selected", function() { follow(false); });
}
function leadTo(element) {
if (!addressWords().at) { element.scrollIntoView({ block: "start" }); }
}

function passName(id, label) { return /\(pass \d+\)$/.test(label) ? label : label + " (pass " + id + ")"; }
function passNamed(names, id) {
var pass = parseInt(id, 10), known = names.filter(function(one) { return one[0] <= pass && pass <= one[1]; })[0];
if (!known || String(pass) !== String(id)) { return "pass " + id + (names.length ? ", which this run lacks" : ""); }
return passName(pass, typeof known[2] === "string" ? known[2] : "token " + (known[2] + pass - known[0]));
}
var selectionNames = {
pass: function(id) {
var bar = document.querySelector("[data-tg=selection]");
return passNamed(JSON.parse(bar && bar.getAttribute("data-passes") || "[]"), id);
},
layer: function(layer) { return layer === "none" ? "no layer" : "layer " + layer; },
tensor: function(number) { return "tensor " + number; }
};
function selectionText(key, value) {
return selectionNames[key]               ? selectionNames[key](value) :
key === "group" || key === "component" ? value :
key + " " + value;
}
function selectionWords(chosen) {
return Object.keys(chosen).map(function(key) { return selectionText(key, chosen[key]); }).join(", ");
}

function selectionBar() {
var bar = document.querySelector("[data-tg=selection]"), chosen = selected(addressWords()), list;
if (!bar) { return; }
list = bar.querySelector("[data-tg=chosen]");
list.textContent = "";
Object.keys(chosen).forEach(function(key) {
var item = list.appendChild(make("li")),
button = item.appendChild(make("button", "", selectionText(key, chosen[key])));
button.type = "button";
button.setAttribute("aria-label", "no longer choose " + button.textContent);
button.addEventListener("click", function() {
var change = {};
change[key] = null;
choose(change);
});
});
bar.hidden = false;
bar.classList.toggle("tg-unchosen", !list.firstChild);
bar.querySelectorAll("[data-tg=chosen-word], [data-tg=clear-all]")
.forEach(function(part) { part.hidden = !list.firstChild; });
}

function carried(link, root) {
var to = new URL(link.href, location.href), words = addressText(selected(addressWords())), hash = to.hash.slice(1);
if (to.origin !== location.origin || to.pathname.indexOf(root) !== 0 || link.hasAttribute("download")) { return; }
if (!/\/(index\.html)?$/.test(to.pathname) || !words) { return; }
if (to.pathname === location.pathname && (!hash || document.querySelector("[data-tg=explore]"))) { return; }
if (hash.indexOf("file=") === 0) { /* a place of a model file: its tensor replaces the chosen one */
to.hash = [addressText(Object.assign(selected(addressWords()), { tensor: null, expert: null, node: null })), hash]
.filter(Boolean)
.join("&");
link.href = to.href;
return;
}
if (hash.indexOf("=") >= 0) { return; }
var named = /^g\d/.test(hash), others = addressText(Object.assign(selected(addressWords()), { node: null }));
to.hash = named ? [hash, others].filter(Boolean).join("&") : words + "&at=" + (hash || "top");
link.href = to.href;
}
function toPlace() {
var place = addressWords().at, element = place && document.getElementById(place);
if (element) { element.scrollIntoView({ block: "start" }); }
}

function whileGrowing(again) {
var watch = new ResizeObserver(again);
watch.observe(document.body);
["wheel", "pointerdown", "keydown", "touchstart"].forEach(function(kind) {
window.addEventListener(kind, function() { watch.disconnect(); }, { capture: true, once: true, passive: true });
});
window.setTimeout(function() { watch.disconnect(); }, 5000);
}

function addressSeen() {
var places = document.querySelectorAll(".tracegen :is([id^=fig-], [id^=tab-], section[id], h2[id])");
var above = Array.from(places).filter(
function(place) { return place.getClientRects().length && place.getBoundingClientRect().top < innerHeight / 4; });
var url = location.href.split("#"),
words =
(url[1] || "").split("&").filter(function(word) { return word.indexOf("=") > 0 && word.indexOf("at=") !== 0; });
if (!scrollY || !above.length) { return location.href; }
words.push((words.length ? "at=" : "") + above[above.length - 1].id);
return url[0] + "#" + words.join("&");
}

function linkSeen(bar) {
var seen = addressSeen(), hash = seen.indexOf("#") < 0 ? "" : seen.slice(seen.indexOf("#"));
if (location.protocol !== "file:") { return seen; }
var url = publishedAt(bar, hash);
return isAddress(url) ? url : bar.dataset.cited + ", " + url;
}

function copied(text, status, field) {
function failed() {
status.textContent = "The browser did not allow copying: " + (field ? "copy the text below." : text);
if (field) {
field.hidden = false;
field.select();
}
}
if (!navigator.clipboard) {
failed();
return;
}
navigator.clipboard.writeText(text).then(function() { status.textContent = "Copied."; }, failed);
}

starts.push(function() {
var part = document.querySelector("[data-tg=issue]");
if (!part) { return; }
part.querySelector("a").addEventListener("click", function(event) {
var field = part.querySelector("textarea");
event.preventDefault();
copied(field.value, part.querySelector("[data-tg=copied]"), field);
});
});

starts.push(function() {
var bar = document.querySelector("[data-tg=selection]"), root;
if (!bar) { return; }
root = new URL(bar.getAttribute("data-up") || "./", location.href).pathname;
function part(name) { return bar.querySelector("[data-tg=" + name + "]"); }
part("copy-link").addEventListener("click", function() { copied(linkSeen(bar), part("said")); });
part("copy-citation").addEventListener("click", function() {
var name = bar.getAttribute("data-up") === "./" ? "" : document.querySelector("h1").textContent.trim(),
words = [name, selectionWords(selected(addressWords()))].filter(Boolean).join(", ");
copied(citation(formOf(bar), bar.dataset, words, publishedAt(bar, location.hash), ""), part("said"));
});
citable(bar);
part("clear-all").addEventListener("click", function() {
var none = {};
SELECTION.forEach(function(key) { none[key] = null; });
choose(none);
});
["click", "auxclick", "contextmenu"].forEach(function(kind) {
document.addEventListener(kind, function(event) {
var link = event.target.closest && event.target.closest("a[href]");
if (link) { carried(link, root); }
}, true);
});
whenSelected(toPlace);
selectionBar();
window.setTimeout(toPlace, 0);
if (addressWords().at) { whileGrowing(toPlace); }
});
function colourOf(element, name) {
var probe = make("i");
probe.style.color = "var(" + name + ")";
element.parentNode.appendChild(probe);
var colour = getComputedStyle(probe).color;
probe.remove();
return colour;
}
function coloursOf(element, names) {
var colours = {};
names.forEach(function(name) { colours[name] = colourOf(element, "--tg-" + name); });
return colours;
}
function sharp(canvas, height) {
var ratio = window.devicePixelRatio || 1, width = Math.max(canvas.parentNode.clientWidth, 1);
canvas.style.height = height + "px";
canvas.width = Math.round(width * ratio);
canvas.height = Math.round(height * ratio);
var pen = canvas.getContext("2d");
pen.setTransform(ratio, 0, 0, ratio, 0, 0);
pen.clearRect(0, 0, width, height);
pen.font = "12px Arial, Liberation Sans, sans-serif";
pen.textBaseline = "middle";
return { pen: pen, width: width, height: height, ratio: ratio };
}
function redrawn(draw) {
var pending = false;
function soon() {
if (pending) { return; }
pending = true;
requestAnimationFrame(function() {
pending = false;
draw();
});
}
window.addEventListener("resize", soon);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
new MutationObserver(soon).observe(document.body, { attributes: true });
new MutationObserver(soon).observe(document.documentElement, { attributes: true });
return soon;
}
function three(value) {
if (value === 0) { return "0"; }
return rounded(value, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
}
function inUnit(value, units, smallest) {
var unit = units.filter(function(row) { return value >= (row[2] || row[1]); })[0];
return unit ? three(value / unit[1]) + " " + unit[0] : Math.round(value) + " " + smallest;
}
var TIMES = [["h", 3.6e12, 7.2e12], ["min", 6e10, 1.2e11], ["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
var BYTES = [["TiB", Math.pow(2, 40)], ["GiB", Math.pow(2, 30)], ["MiB", Math.pow(2, 20)], ["KiB", Math.pow(2, 10)]];
function took(ns) { return ns === null || ns === undefined ? "not recorded" : inUnit(ns, TIMES, "ns"); }
function bytesOf(value) { return inUnit(value, BYTES, "B"); }
var figureSpecs = {};
window.tracegenFigure = function(key, book) { figureSpecs[key] = book; };
function figureTargets(drawing) {
return figureSpecs[drawing.getAttribute("data-key")] ? [] : [drawing.getAttribute("data-targets")];
}

function figureTeller() {
var FRAME = 4, box = make("div", "tg-told"), frame = make("div", "tg-told-frame"), list = box.appendChild(make("dl")),
of = null;
box.setAttribute("role", "status");
box.hidden = frame.hidden = true;
function place(element, left, top) {
element.style.left = left + "px";
element.style.top = top + "px";
}
function hide() {
box.hidden = frame.hidden = true;
of = null;
}
document.addEventListener("keydown", function(event) {
if (event.key === "Escape") { hide(); }
});
window.addEventListener("scroll", hide, { capture: true, passive: true });
return {
hide: hide,
show: function(home, mark) {
var values = mark.__data__.tooltip, at = mark.getBoundingClientRect(),
wide = document.documentElement.clientWidth;
if (of === mark) { return; }
home.appendChild(frame);
home.appendChild(box);
of = mark;
list.textContent = "";
Object.keys(values).forEach(function(name) {
var line = list.appendChild(make("div"));
line.appendChild(make("dt", "", name));
line.appendChild(make("dd", "", values[name]));
});
box.hidden = frame.hidden = false;
frame.style.width = at.width + FRAME + "px";
frame.style.height = at.height + FRAME + "px";
place(frame, at.left - FRAME / 2, at.top - FRAME / 2);
var room = box.getBoundingClientRect(), under = at.bottom + 8 + room.height < window.innerHeight;
place(box, Math.max(4, Math.min(at.left, wide - room.width - 4)),
under ? at.bottom + 8 : Math.max(4, at.top - 8 - room.height));
}
};
}

function figurePoints(drawing, teller) {
var home = drawing.parentNode, at = -1, marks = [];
drawing.addEventListener("pointerover", function(event) {
if (marks.indexOf(event.target) >= 0) {
teller.show(home, event.target);
} else {
teller.hide();
}
});
drawing.addEventListener("pointerleave", teller.hide);
drawing.addEventListener("blur", teller.hide);
drawing.addEventListener("keydown", function(event) {
var step = { ".": 1, ",": -1 }[event.key];
if (!step || !marks.length || event.ctrlKey || event.altKey || event.metaKey) { return; }
at = at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length;
marks[at].scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
requestAnimationFrame(function() { requestAnimationFrame(function() { teller.show(home, marks[at]); }); });
});
drawing.setAttribute("aria-label",
drawing.getAttribute("aria-label") + "; full stop and comma read its values one by one");
return function(svg) {
at = -1;
marks =
Array.prototype.filter.call(svg ? svg.querySelectorAll("path, rect, line, text, image") : [], function(element) {
var tells = element.__data__ && element.__data__.tooltip;
if (!tells) { element.style.pointerEvents = "none"; }
figureChooses(element);
return tells;
});
drawing.setAttribute("data-told", String(marks.length));
};
}

function figureChooses(element) {
var row = element.__data__ && element.__data__.datum;
if (!row || typeof row.pass_id !== "number") { return; }
element.style.cursor = "pointer";
element.addEventListener("click", function(event) {
event.stopPropagation();
choose({ pass: row.pass_id });
});
}

function figureShown(drawing) {
return Array.prototype.filter.call(drawing.children,
function(element) { return element.tagName === "svg" && getComputedStyle(element).display !== "none"; })[0];
}

function figureSpec(book, width) {
var spec = JSON.parse(JSON.stringify(book.layouts[width]));
(spec.data || []).forEach(function(source) {
if (typeof source.values === "number") { source.values = JSON.parse(JSON.stringify(book.values[source.values])); }
});
return spec;
}

function figureLively(drawing, teller) {
var book = figureSpecs[drawing.getAttribute("data-key")], shown = null, points = figurePoints(drawing, teller),
plain = { mode: "vega", renderer: "svg", actions: false, tooltip: false, hover: false, defaultStyle: false };
function lay(of) {
var named = /tg-at-(\d+)/.exec(of.getAttribute("class") || ""), width = named ? named[1] : "0",
layer = make("div", "tg-targets" + (named ? " " + named[0] : ""));
if (!book.layouts[width]) { return; }
layer.setAttribute("aria-hidden", "true");
window.tracegenVega(layer, figureSpec(book, width), plain).then(function() {
var svg = layer.querySelector("svg"), drawn = of.viewBox.baseVal, size = svg.viewBox.baseVal;
if (of !== shown) { return; } /* meanwhile another layout is shown */
if (Math.abs(drawn.width - size.width) > 1.5 || Math.abs(drawn.height - size.height) > 1.5) {
points(null); /* the layout differs from the drawing, so tooltips would belong to wrong marks */
return;
}
svg.removeAttribute("width");
svg.removeAttribute("height");
drawing.appendChild(layer);
points(svg);
});
}
function follow() {
var now = figureShown(drawing), old = drawing.querySelector(".tg-targets");
if (!now || now === shown) { return; }
shown = now;
if (old) { drawing.removeChild(old); }
teller.hide();
points(null);
drawing.removeAttribute("data-told");
lay(now);
}
follow();
if (window.ResizeObserver) { new ResizeObserver(follow).observe(drawing); }
}

ends.push(function() {
var vega = document.documentElement.getAttribute("data-tracegen-vega"),
drawings = document.querySelectorAll("[data-targets]");
if (!vega || !drawings.length) { return; }
var teller = figureTeller(), kinds = ["pointerenter", "focus", "touchstart"];
drawings.forEach(function(drawing) {
function wake() {
var needed = (window.tracegenVega ? [] : [vega]).concat(figureTargets(drawing));
kinds.forEach(function(kind) { drawing.removeEventListener(kind, wake); });
scripts(needed, function() { figureLively(drawing, teller); }, function() {});
}
kinds.forEach(function(kind) { drawing.addEventListener(kind, wake, { passive: true }); });
});
});

function figureRow(rows, pass) {
var next = firstWhere(rows.length, function(i) { return rows[i][0] > pass; });
return next ? rows[next - 1] : null;
}
function figureRows(svg, book) {
var named = /tg-at-(\d+)/.exec(svg.getAttribute("class") || ""), inner = svg.querySelector("g[transform]"),
rows = inner && (book.rows || {})[named ? named[1] : "0"];
return rows ? { inner: inner, rows: rows } : null;
}
function figurePassAt(drawing, book, x, y) {
var svg = figureShown(drawing), of = svg && figureRows(svg, book), place;
if (!of) { return undefined; }
place = new DOMPoint(x, y).matrixTransform(of.inner.getScreenCTM().inverse());
return of.rows.filter(function(row) { return row[2] <= place.y && place.y <= row[4]; })
.map(function(row) { return row[0]; })[0];
}
function figureFrame(drawing, book, pass) {
var ROOM = 1.5;
drawing.querySelectorAll(".tg-chosen-row").forEach(function(old) { old.remove(); });
if (pass === undefined) { return; }
drawing.querySelectorAll(":scope > svg").forEach(function(svg) {
var of = figureRows(svg, book), at = of && figureRow(of.rows, pass), frame;
if (!at) { return; }
frame = of.inner.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
frame.setAttribute("class", "tg-chosen-row");
frame.setAttribute("x", at[1] - ROOM);
frame.setAttribute("y", at[2] - ROOM);
frame.setAttribute("width", at[3] - at[1] + 2 * ROOM);
frame.setAttribute("height", at[4] - at[2] + 2 * ROOM);
});
}

function figureOfAll(figure, pass, up) {
var old = figure.querySelector(".tg-of-all"), line, words;
if (old) { old.remove(); }
if (pass === undefined) { return; }
line = make("p", "tg-of-all", "all tokens; for " + selectionNames.pass(pass) + " see the ");
words = Object.assign(selected(addressWords()), { at: "tab-token" });
line.appendChild(make("a", "", "operations")).href = up + "operations/index.html#" + addressText(words);
figure.querySelector(".tg-title").insertAdjacentElement("afterend", line);
}

var FOLLOWING = "[data-tg=operations], [data-tg=timeline], [data-tg=experts]";
ends.push(function() {
var bar = document.querySelector("[data-tg=selection]"), framed = "[data-key=file-tokens]";
if (!bar) { return; }
function follow() {
var pass = selected(addressWords()).pass, picture = document.querySelector(framed),
known = pass !== undefined && bar.getAttribute("data-passes") &&
passNamed(JSON.parse(bar.getAttribute("data-passes")), pass).indexOf("lacks") < 0;
document.querySelectorAll("figure.tg-figure:has(> .tg-drawing[data-targets])").forEach(function(figure) {
if (figure.querySelector(framed) || document.querySelector(FOLLOWING)) { return; }
figureOfAll(figure, known ? pass : undefined, bar.getAttribute("data-up"));
});
if (!picture) { return; }
if (!known) {
figureFrame(picture, null, undefined);
return;
}
scripts(figureTargets(picture), function() { figureFrame(picture, figureSpecs["file-tokens"], address().pass); },
function() {});
}
if (document.querySelector(framed)) {
document.querySelector(framed).addEventListener("click", function(event) {
var picture = event.currentTarget;
scripts(figureTargets(picture),
function() {
var pass = figurePassAt(picture, figureSpecs["file-tokens"], event.clientX, event.clientY);
if (pass !== undefined) { choose({ pass: pass }); }
},
function() {});
});
}
whenSelected(follow);
follow();
});
function comparedRows(rows, only) {
var shown = 0;
rows.forEach(function(row) {
var fits = !only || row.lastElementChild.textContent.trim() === only;
row.hidden = !fits;
shown += fits ? 1 : 0;
});
return shown;
}

ends.push(function() {
var root = document.querySelector("[data-tg=comparison]"), table = document.querySelector("#tab-timed tbody"), rows;
if (!root) { return; }
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
root.hidden = false;
part("copy-markdown")
.addEventListener("click", function() { copied(part("markdown").value, part("said"), part("markdown")); });
if (!table) { return; }
rows = Array.from(table.rows);
function follow() {
var wanted = addressWords().only, only = wanted === "better" || wanted === "worse" ? wanted : "", shown;
part("only").value = only;
if (only && table.closest("details")) { table.closest("details").open = true; }
shown = comparedRows(rows, only);
part("told").textContent =
only ? shown + " of " + rows.length + " timed measures listed below became " + only + "." : "";
}
part("only").addEventListener("change", function(event) {
putAddress({ only: event.target.value });
follow();
});
whenSelected(follow);
follow();
});
ends.push(function() {
if (!window.ResizeObserver) { return; }
var observer = new ResizeObserver(function(entries) {
entries.forEach(function(entry) {
entry.target.toggleAttribute("data-sideways", entry.target.scrollWidth > entry.target.clientWidth + 1);
});
});
document.querySelectorAll(".tracegen .tg-title + :is(.tg-scroll, .tg-drawing)")
.forEach(function(box) { observer.observe(box); });
});
function reveal() {
var target = null, folded;
try {
target = document.getElementById(addressWords().at || decodeURIComponent(location.hash.slice(1)));
} catch (error) { /* no address of an element */
}
if (!target) { return; }
folded = target.querySelector(":scope > details.tg-unfold:not([open])") || target.closest("details:not([open])");
if (!folded) { return; }
while (folded) {
folded.open = true;
folded = target.closest("details:not([open])");
}
target.scrollIntoView();
}
ends.push(function() {
var list = document.querySelector(".tracegen .tg-fold");
window.addEventListener("hashchange", reveal);
reveal();
if (!list) { return; }
document.addEventListener("click", function(event) {
if (!event.target.closest(".tg-fold summary")) { list.open = false; }
});
list.addEventListener("keydown", function(event) {
if (event.key !== "Escape") { return; }
list.open = false;
list.firstElementChild.focus();
});
});
function begin() {
starts.concat(ends).forEach(function(start) { start(); });
selectionBar(); /* again: by now each part of the page has said how it names passes and tensors */
}
if (document.readyState === "complete") {
begin();
} else {
document.addEventListener("DOMContentLoaded", begin);
}
window.tracegenShared = { starts, THIN, group, rounded, fixed, exact, make, kindOfMemory, firstWhere, addressWords, address, stateOf, waiting, script, scripts, pageKey, paged, LATEX, inLatex, citation, publishedAt, isAddress, titleOf, NO_ADDRESS, inBibtex, inCsl, formOf, citable, SELECTION, addressText, selected, addressPlace, putAddress, choose, whenSelected, leadTo, passName, passNamed, selectionNames, selectionText, selectionWords, selectionBar, carried, toPlace, whileGrowing, addressSeen, linkSeen, copied, colourOf, coloursOf, sharp, redrawn, three, inUnit, TIMES, BYTES, took, bytesOf, figureSpecs, figureTargets, figureTeller, figurePoints, figureChooses, figureShown, figureSpec, figureLively, figureRow, figureRows, figurePassAt, figureFrame, figureOfAll, FOLLOWING, comparedRows, reveal, begin };
}());
