(function () {
"use strict";
const { starts, THIN, group, rounded, fixed, exact, make, kindOfMemory, firstWhere, addressWords, address, stateOf, waiting, script, scripts, pageKey, paged, LATEX, inLatex, citation, publishedAt, isAddress, titleOf, NO_ADDRESS, inBibtex, inCsl, formOf, citable, SELECTION, addressText, selected, addressPlace, putAddress, choose, whenSelected, leadTo, passName, passNamed, selectionNames, selectionText, selectionWords, selectionBar, carried, toPlace, whileGrowing, addressSeen, linkSeen, copied, colourOf, coloursOf, sharp, redrawn, three, inUnit, TIMES, BYTES, took, bytesOf, figureSpecs, figureTargets, figureTeller, figurePoints, figureChooses, figureShown, figureSpec, figureLively, figureRow, figureRows, figurePassAt, figureFrame, figureOfAll, FOLLOWING, comparedRows, reveal, begin } = window.tracegenShared;
function unpack(text) {
var bytes = atob(text), numbers = [], value = 0, scale = 1;
for (var i = 0; i < bytes.length; i += 1) {
var byte = bytes.charCodeAt(i);
value += (byte & 127) * scale;
if (byte > 127) {
scale *= 128;
continue;
}
numbers.push(value === 0 ? null : value % 2 ? (value - 1) / 2 : -value / 2);
value = 0;
scale = 1;
}
return numbers;
}
var packedPasses = {}, statics = {}, unpackedPasses = {};

window.tracegenChunk = function(list) {
var node = null;
list.forEach(function(pass) {
node = pass.node = pass.node || node;
packedPasses[pass.id] = pass;
});
};

window.tracegenStatic = function(data) {
data.about = {};
data.nodes.forEach(function(row,
i) { data.about[row[0]] = { op: row[1], name: row[2], layer: row[3], component: row[4], at: i }; });
statics[data.static] = data;
};

function steady(pass, known, name) {
var values = pass.node.map(function(node) {
var row = known.about[node];
return row ? known[name][row.at] : null;
});
var pairs = unpack(pass[name] || ""), row = 0;
for (var i = 0; i < pairs.length; i += 2) {
row += pairs[i];
values[row] = pairs[i + 1];
}
return values;
}

function unitsOf(pass, known) {
var numbers = unpack(pass.units), at = 0, units = {};
known.selects.forEach(function(operand) {
var n = numbers[at], runs = [], sum = 0, next = 0;
at += 1;
for (var i = 0; i < n; i += 1, at += 2) {
var first = next + numbers[at], count = numbers[at + 1] + 1;
runs.push([first, count]);
sum += count;
next = first + count;
}
if (n) {
units[operand[0] + "." + operand[1]] = {
unit: operand[2],
runs: runs,
size: operand[3],
bytes: operand[3] === null ? null : sum * operand[3]
};
}
});
return units;
}

function unitText(used) {
var texts =
used.runs.map(function(run) { return run[1] === 1 ? String(run[0]) : run[0] + "–" + (run[0] + run[1] - 1); });
return used.unit + "s " + texts.slice(0, 24).join(", ") + (texts.length > 24 ? ", …" : "");
}

function passOf(id, number) {
var packed = packedPasses[id], known = statics[number];
if (unpackedPasses[id]) { return unpackedPasses[id]; }
if (!packed || !known) { return null; }
var pass = { id: id, known: known, node: packed.node, units: unitsOf(packed, known) }, last = 0;
pass.begin = unpack(packed.begin).map(function(gap) {
if (gap === null) { return null; }
last += gap;
return last;
});
["duration", "work", "barrier", "wait"].forEach(function(name) { pass[name] = unpack(packed[name]); });
["disk", "copied", "buffer", "threads"].forEach(function(name) { pass[name] = steady(packed, known, name); });
pass.note = packed.node.map(function(node, i) {
var row = known.about[node];
return packed.note && packed.note[i] !== undefined ? packed.note[i] : row ? known.note[row.at] : "";
});
pass.experts = chosenExperts(packed.experts);
pass.from_disk = packed.from_disk === undefined ? null : diskOf(packed.from_disk);
pass.ran = {}; /* an op that did not run accessed nothing */
packed.node.forEach(function(node,
i) { pass.ran[node] = pass.note[i] === "" || pass.note[i].indexOf("fused") === 0; });
unpackedPasses[id] = pass;
return pass;
}
function chosenExperts(text) {
var numbers = text ? unpack(text) : null, layers = [], last = null;
if (!numbers) { return null; }
for (var i = 0; i < numbers.length; i += 3) {
if (!last || last[0] !== numbers[i]) { layers.push(last = [numbers[i], []]); }
last[1].push([numbers[i + 1], numbers[i + 2] === null ? null : numbers[i + 2] / 1000]);
}
return layers;
}
function diskOf(text) {
var numbers = unpack(text), rows = [], tensor = 0;
for (var i = 0; i < numbers.length; i += 4) {
tensor += numbers[i];
rows.push([tensor].concat(numbers.slice(i + 1, i + 4)));
}
return rows;
}
function operandsOf(pass, node) { return (pass.ran[node] && pass.known.operands[node]) || []; }

function loadPass(entry, folder, done, failed) {
var paths = [];
if (!packedPasses[entry.id] && entry.chunk !== null) { paths.push(folder + entry.chunk + ".js"); }
if (!statics[entry.static]) { paths.push(folder + "p" + entry.static + ".js"); }
scripts(paths, done, failed);
}
var BEYOND = 12;

function opTops(entries, height) {
var tops = [0];
entries.forEach(function(entry, i) { tops.push(tops[i] + height + (entry.open ? entry.extra : 0)); });
return tops;
}
function opAt(tops, y) {
return firstWhere(tops.length - 1, function(i) { return tops[i + 1] > y; });
}
function opRoom(pixels) {
var row = make("tr", "tg-room"), cell = row.appendChild(make("td"));
row.setAttribute("aria-hidden", "true");
cell.colSpan = 16;
cell.style.height = pixels + "px";
return row;
}

function opFit(scroller, height) {
var head = scroller.querySelector("thead"), foot = scroller.querySelector("tfoot");
var edge = head.offsetHeight + foot.offsetHeight + scroller.offsetHeight - scroller.clientHeight;
var rows = Math.max(3, Math.floor((0.42 * window.innerHeight - edge) / height));
scroller.style.maxHeight = edge + rows * height + "px";
}

function opWindow(scroller, body, rowsOf) {
var height = 28, entries = [], tops = [0], from = 0, to = 0, whole = false;

function measure() { tops = opTops(entries, height); }
function at(y) { return opAt(tops, y); }
function render() {
var rows = document.createDocumentFragment(), focus = document.activeElement;
from = whole ? 0 : Math.max(0, at(scroller.scrollTop) - BEYOND);
to = whole ? entries.length : Math.min(entries.length, at(scroller.scrollTop + scroller.clientHeight) + BEYOND);
rows.appendChild(opRoom(tops[from]));
entries.slice(from, to).forEach(function(entry, i) {
rowsOf(entry).forEach(function(row, k) {
if (k === 0) { row.setAttribute("aria-rowindex", String(from + i + 2)); }
rows.appendChild(row);
});
});
rows.appendChild(opRoom(tops[entries.length] - tops[to]));
body.textContent = "";
body.appendChild(rows);
if (focus && body.contains(focus)) { focus.focus({ preventScroll: true }); }
}
function settle() {
var first = body.querySelector("tr.tg-op"), changed = false,
measured = first ? first.getBoundingClientRect().height : 0;
if (measured && Math.abs(measured - height) > 0.01) {
height = measured;
changed = true;
}
entries.slice(from, to).forEach(function(entry) {
var extra = entry.open ? rowsOf(entry)[1].getBoundingClientRect().height : 0;
if (entry.open && Math.abs(extra - entry.extra) > 0.5) {
entry.extra = extra;
changed = true;
}
});
if (changed) {
measure();
render();
}
}
function draw() {
measure();
render();
settle();
opFit(scroller, height);
}
function set(list) {
entries = list;
draw();
}
function reveal(entry) {
var i = entries.indexOf(entry);
if (i >= 0) {
scroller.scrollTop = tops[i] - scroller.clientHeight / 3;
render();
}
}
scroller.addEventListener("scroll", function() {
var first = at(scroller.scrollTop), last = at(scroller.scrollTop + scroller.clientHeight);
if (first < from || last > to || (from > 0 && first - from < 3) || (to < entries.length && to - last < 3)) {
render();
settle();
}
});
window.addEventListener("resize", draw);
window.addEventListener("beforeprint", function() {
whole = true;
render();
});
window.addEventListener("afterprint", function() {
whole = false;
draw();
});
return { set: set, draw: draw, reveal: reveal };
}
var OP_COLUMNS = [
{ key: "node", title: "node" }, { key: "name", title: "result", text: true },
{ key: "op", title: "operation", text: true }, { key: "layer", title: "layer" },
{ key: "component", title: "component", text: true }, { key: "begin", title: "begin_ns" },
{ key: "duration", title: "wall_ns", sum: [1e3, 2] }, { key: "work", title: "work_ns", sum: [1e3, 2] },
{ key: "barrier", title: "waiting_inside_ns", sum: [1e3, 2] },
{ key: "wait", title: "waiting_after_ns", sum: [1e3, 2] }, { key: "disk", title: "mapped_bytes", sum: [1024, 1] },
{ key: "copied", title: "copied_bytes", sum: [1024, 1] }, { key: "buffer", title: "buffer_bytes", sum: [1024, 1] },
{ key: "threads", title: "threads" }, { key: "reads", title: "sources", text: true, extra: true },
{ key: "used", title: "touched_rows_or_experts", text: true, extra: true }
];

function readsOf(pass, node) {
return operandsOf(pass, node)
.filter(function(o) { return o[0] !== "dst"; })
.map(function(o) { return o[1]; })
.join(", ");
}
function usedOf(pass, node) {
return operandsOf(pass, node)
.map(function(o) { return pass.units[node + "." + o[0]]; })
.filter(Boolean)
.map(unitText)
.join("; ");
}


function opModel(pass, groups) {
var longest = pass.duration.reduce(function(most, value) { return value > most ? value : most; }, 1);
return pass.node.map(function(node, i) {
var about = opAbout(pass, node), at = { node: node };
["name", "op", "layer", "component"].forEach(function(name) { at[name] = about[name]; });
OP_COLUMNS.slice(5, 14).forEach(function(column) { at[column.key] = pass[column.key][i]; });
at.reads = readsOf(pass, node);
at.used = usedOf(pass, node);
at.group = groups[at.component] || "other";
var words = [node, at.name, at.op, pass.note[i], at.component, at.reads, at.used];
if (at.layer !== null) { words.push("layer " + at.layer); }
return {
i: i,
at: at,
longest: longest,
words: words.join("\n").toLowerCase(),
open: false,
extra: 0,
hidden: false
};
});
}
function opAbout(pass, node) { return pass.known.about[node] || { op: "", name: "", layer: null, component: "other" }; }

function opLayerWord(word) {
var layer = /^(?:blk\.|layer[.=]?)(\d+)\.?$/.exec(word);
return layer ? parseInt(layer[1], 10) : null;
}
function opWanted(entry, wanted) {
var at = entry.at;
if (wanted.layer && (at.layer === null ? "none" : String(at.layer)) !== wanted.layer) { return false; }
if (wanted.op && at.op !== wanted.op) { return false; }
if (wanted.component && at.component !== wanted.component) { return false; }
if (wanted.group && at.group !== wanted.group) { return false; }
if (wanted.memory && !at[wanted.memory]) { return false; }
return wanted.words.every(function(word) {
var layer = opLayerWord(word);
return layer === null ? entry.words.indexOf(word) >= 0 : at.layer === layer || entry.words.indexOf(word) >= 0;
});
}
function opLayers(model) {
var layers = new Set(model.map(function(entry) { return entry.at.layer; })), none = layers.delete(null);
var list = Array.from(layers).sort(function(a, b) { return a - b; });
return list.map(function(layer) { return [String(layer), "layer " + layer]; })
.concat(none ? [["none", "no layer"]] : []);
}
function opComponents(model) {
var groups = {}, list = [];
model.forEach(
function(entry) { (groups[entry.at.group] = groups[entry.at.group] || {})[entry.at.component] = true; });
Object.keys(groups).sort().forEach(function(group) {
var members = Object.keys(groups[group]).sort();
list.push(["group:" + group, group]);
if (members.length > 1) {
members.forEach(function(name) { list.push([name, "\u2003" + name]); });
}
});
return list;
}

function opBefore(sort) {
return function(a, b) {
var x = a.at[sort.key], y = b.at[sort.key], none = (x === null) - (y === null);
if (none) { return none; } /* unknown values come last in both directions */
return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1) || a.i - b.i;
};
}
function opSorted(text) {
var key = text.replace(/^-/, "");
return OP_COLUMNS.some(function(c) { return c.key === key; }) ? { key: key, down: text[0] === "-" } : null;
}
function opSort(sort, key) {
var column = OP_COLUMNS.filter(function(c) { return c.key === key; })[0],
first = !column.text && key !== "node" && key !== "begin" && key !== "layer";
if (!sort || sort.key !== key) { return { key: key, down: first }; }
return sort.down === first ? { key: key, down: !first } : null;
}

function opSum(entries, column) {
var known = entries.filter(function(entry) { return entry.at[column.key] !== null; });
var total = known.reduce(function(sum, entry) { return sum + entry.at[column.key]; }, 0);
return {
text: known.length ? fixed(total, column.sum[0], column.sum[1]) : "—",
of: known.length < entries.length ? exact(known.length) + " of " + exact(entries.length) + " rows" : ""
};
}

function opColumns(text) {
var all = OP_COLUMNS.map(function(c, i) { return i; }), keys = OP_COLUMNS.map(function(c) { return c.key; });
var named = text.split(",")
.map(function(key) { return keys.indexOf(key); })
.filter(function(k, i, list) { return k > 1 && list.indexOf(k) === i; });
if (!named.length) {
return { order: all, visible: OP_COLUMNS.map(function(c) { return !c.extra; }) };
}
return {
order: [0, 1].concat(named, all.filter(function(k) { return k > 1 && named.indexOf(k) < 0; })),
visible: all.map(function(k) { return k < 2 || named.indexOf(k) >= 0; })
};
}
function opColumnsText(columns) {
var order = columns.order, visible = columns.visible;
var usual = order.every(function(k, i) { return k === i && visible[k] === !OP_COLUMNS[k].extra; });
if (usual) { return ""; }
return order.filter(function(k) { return k > 1 && visible[k]; })
.map(function(k) { return OP_COLUMNS[k].key; })
.join(",");
}

function opLines(entries, columns, between, quoted) {
var visible = columns.order.filter(function(k) { return columns.visible[k]; });
function say(value) {
var text = value === null || value === undefined ? "" : String(value);
if (!quoted) { return text.replace(/[\t\r\n]/g, " "); }
if (/^[=+\-@\t\r]/.test(text) && isNaN(text)) { text = "'" + text; } /* a spreadsheet would compute it */
return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}
var rows =
entries.map(function(entry) { return visible.map(function(k) { return say(entry.at[OP_COLUMNS[k].key]); }); });
return [visible.map(function(k) { return OP_COLUMNS[k].title; })]
.concat(rows)
.map(function(cells) { return cells.join(between); })
.join("\n") +
"\n";
}
function opCell(row, text, className, bar) {
var cell = row.appendChild(make("td", className));
if (bar !== undefined) { cell.appendChild(make("i", "tg-bar")).style.setProperty("--share", bar.toFixed(4)); }
cell.appendChild(document.createTextNode(text));
return cell;
}

function opRow(pass, i, longest, groups) {
var node = pass.node[i], about = opAbout(pass, node), row = make("tr", "tg-op");
var head = row.appendChild(make("th", "tg-n")), button = head.appendChild(make("button", "", node));
row.id = "pass=" + pass.id + "&node=" + node;
row.setAttribute("data-node", node);
head.scope = "row";
button.type = "button";
button.setAttribute("aria-label", "operands of node " + node);
opCell(row, about.name, "tg-code");
var op = row.appendChild(make("td", "tg-code", about.op));
if (pass.note[i]) {
op.appendChild(document.createTextNode(" "));
op.appendChild(make("small", "", pass.note[i]));
}
opCell(row, about.layer === null ? "" : String(about.layer), "tg-n");
var component = row.appendChild(make("td")), dot = component.appendChild(make("i", "tg-dot"));
dot.setAttribute("data-group", groups[about.component] || "other");
component.appendChild(document.createTextNode(about.component));
opCell(row, fixed(pass.begin[i], 1e3, 1), "tg-n");
opCell(row, fixed(pass.duration[i], 1e3, 2), "tg-n", (pass.duration[i] || 0) / longest);
["work", "barrier", "wait"].forEach(function(name) { opCell(row, fixed(pass[name][i], 1e3, 2), "tg-n"); });
["disk", "copied", "buffer"].forEach(function(name) { opCell(row, fixed(pass[name][i], 1024, 1), "tg-n"); });
opCell(row, exact(pass.threads[i]), "tg-n");
opCell(row, readsOf(pass, node), "tg-code");
opCell(row, usedOf(pass, node), "");
return row;
}

function opWays(pass, node, graph, pages) {
var ways = make("p", "tg-note"), into = /^fused into (\d+)$/.exec(pass.note[pass.node.indexOf(node)]);
var ran = into ? into[1] : node, targets = {
graph: ["Node " + node + " in the graph", "g" + graph + "-n" + node],
timeline: [
into ? "node " + ran + ", which computed it, in the timeline" : "in the timeline",
"pass=" + pass.id + "&node=" + ran
]
};
pages.forEach(function(page, i) {
ways.appendChild(document.createTextNode(i ? " · " : ""));
ways.appendChild(make("a", "", targets[page][0])).href = "../" + page + "/index.html#" + targets[page][1];
});
return ways;
}

function operandRow(used, o, state) {
var row = make("tr"), slot = row.appendChild(make("th", "", o[0]));
slot.scope = "row";
var named = opCell(row, o[1], "tg-code");
if (state.memory && o[3] !== null && o[5] !== null) {
var there = make("a", "", named.textContent);
there.href = "../file/index.html#file=" + o[3] + "&offset=" + o[5];
there.title = "show this place in the map of the file";
named.textContent = "";
named.appendChild(there);
}
opCell(row, o[2] === null ? "not recorded" : kindOfMemory(o[2]));
opCell(row, o[3] !== null ? state.files[o[3]] || "file " + o[3] : o[4] !== null ? "buffer " + o[4] : "—");
[o[5], o[6], used && used.bytes !== null ? used.bytes : o[7]].forEach(
function(value) { opCell(row, exact(value), "tg-n"); });
opCell(row, used ? unitText(used) : "");
return row;
}

function operandsCell(pass, node, graph, state) {
var list = operandsOf(pass, node), box = make("td"), ways = opWays(pass, node, graph, state.ways);
box.colSpan = 16;
if (!list.length) {
box.textContent = "No operand was accessed.";
box.appendChild(ways);
return box;
}
var table = box.appendChild(make("table")), head = make("tr"), rows = make("tbody");
[["Operand"], ["Tensor"], ["Memory"], ["In"], ["Offset", "bytes"], ["Size", "bytes"], ["Touched", "bytes"],
["Touched rows or experts"]]
.forEach(function(title) {
var cell = head.appendChild(make("th", title[1] ? "tg-n" : "", title[0]));
cell.scope = "col";
if (title[1]) {
cell.appendChild(document.createTextNode(" "));
cell.appendChild(make("small", "", title[1]));
}
});
list.forEach(function(o) { rows.appendChild(operandRow(pass.units[node + "." + o[0]], o, state)); });
table.appendChild(make("thead")).appendChild(head);
table.appendChild(rows);
box.appendChild(ways);
return box;
}
var OP_FILTERS = ["layer", "op", "component", "memory"];

function opRows(root, view, groups, changedWords) {
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
var now = { part: part, model: [], shown: [], sort: null, columns: opColumns("") };
var head = opHead(root.querySelector("[data-tg=table] table"), now, function(key) {
now.sort = opSort(now.sort, key);
filter();
changedWords();
});
var pass, byNode = {}, chooser = opChooser(now, head, function() {
head.place();
view.draw();
changedWords();
});

function filter() {
var wanted = opChoice(now), n = exact(now.model.length);
now.model.forEach(function(entry) { entry.hidden = !opWanted(entry, wanted); });
now.shown = now.model.filter(function(entry) { return !entry.hidden; });
if (now.sort) { now.shown.sort(opBefore(now.sort)); }
part("count").textContent =
now.shown.length === now.model.length ? n + " rows" : exact(now.shown.length) + " of " + n + " rows";
part("clear").disabled = !(wanted.words.length || wanted.op || wanted.component || wanted.group || wanted.layer ||
wanted.memory || now.sort);
head.tell();
view.set(now.shown);
}
function take(next) {
var open = {};
now.model.forEach(function(entry) { open[entry.at.node] = entry.open; });
pass = next;
now.model = opModel(pass, groups);
byNode = {};
now.model.forEach(function(entry) {
byNode[entry.at.node] = entry;
entry.open = Boolean(open[entry.at.node]);
});
opLists(now);
filter();
}
function restore(to) {
part("filter").value = to.q || "";
OP_FILTERS.forEach(function(name) { opSelect(part(name), to[name] || ""); });
if (to.group && !to.component) { opSelect(part("component"), "group:" + to.group); }
now.sort = opSorted(to.sort || "");
now.columns = opColumns(to.columns || "");
head.place();
chooser();
filter();
}

function changed() {
filter();
changedWords();
}
part("filter").addEventListener("input", changed);
OP_FILTERS.forEach(function(name) { part(name).addEventListener("change", changed); });
part("clear").addEventListener("click", function() {
restore({ columns: opColumnsText(now.columns) });
changedWords();
part("filter").focus();
});
part("copy").addEventListener("click", function() { opCopy(now); });
part("keep").addEventListener("click", function() { opKeep(now, now.shown, now.columns); });
head.place();
chooser();
return {
take: take,
restore: restore,
arranged: head.arranged,
words: function() { return opWords(now); },
keepWhole: function() {
opKeep(now, now.model, opColumns(OP_COLUMNS.slice(2).map(function(c) { return c.key; }).join(",")));
},
pass: function() { return pass; },
model: function() { return now.model; },
entry: function(node) { return byNode[node]; }
};
}

function opLists(now) {
var kinds = Array.from(new Set(now.model.map(function(entry) { return entry.at.op; }))).sort();
opOptions(now.part("layer"), opLayers(now.model), "every layer");
opOptions(now.part("op"), kinds.map(function(kind) { return [kind, kind]; }), "every operation");
opOptions(now.part("component"), opComponents(now.model), "every component");
}

function opChoice(now) {
var wanted = { words: now.part("filter").value.toLowerCase().split(/\s+/).filter(Boolean) }, group;
OP_FILTERS.forEach(function(name) { wanted[name] = now.part(name).value; });
group = /^group:(.*)$/.exec(wanted.component);
wanted.group = group ? group[1] : "";
if (group) { wanted.component = ""; }
return wanted;
}

function opWords(now) {
var words = opChoice(now);
words.q = now.part("filter").value;
delete words.words;
words.sort = now.sort ? (now.sort.down ? "-" : "") + now.sort.key : "";
words.columns = opColumnsText(now.columns);
return words;
}

function opHead(table, now, sorted) {
var foot = table.tFoot.rows[0], widths = table.querySelector("colgroup");
var heads = Array.from(table.tHead.rows[0].cells), feet = Array.from(foot.cells),
columns = Array.from(widths.children);
function put(row, cells) {
now.columns.order.forEach(function(k) {
if (now.columns.visible[k]) {
row.appendChild(cells[k]);
} else {
cells[k].remove();
}
});
}
heads.forEach(function(head, k) {
var button = make("button", "tg-sort");
button.type = "button";
while (head.firstChild) { button.appendChild(head.firstChild); }
head.appendChild(button);
button.addEventListener("click", function() { sorted(OP_COLUMNS[k].key); });
});
return {
text: function(k) { return heads[k].innerText.replace(/\s+/g, " ").trim(); },
arranged: function(row) {
put(row, Array.from(row.children));
return row;
},
place: function() {
put(heads[0].parentNode, heads);
put(foot, feet);
put(widths, columns);
now.model.forEach(function(entry) { entry.row = null; });
},
tell: function() {
table.setAttribute("aria-rowcount", String(now.shown.length + 1));
OP_COLUMNS.forEach(function(column, k) {
var mine = now.sort && column.key === now.sort.key, sum = column.sum && opSum(now.shown, column);
if (mine) {
heads[k].setAttribute("aria-sort", now.sort.down ? "descending" : "ascending");
} else {
heads[k].removeAttribute("aria-sort");
}
if (sum) {
feet[k].textContent = sum.text;
if (sum.of) { feet[k].appendChild(make("small", "", sum.of)); }
}
});
feet[0].textContent = "Σ";
feet[1].textContent = now.shown.length === now.model.length ?
"all " + exact(now.model.length) + " rows" :
exact(now.shown.length) + " of " + exact(now.model.length) + " rows";
}
};
}

function opChooser(now, head, changed) {
var list = now.part("columns");
function mover(k, i, sign, by, side) {
var button = make("button", "", sign), to = i + 2 + by, order = now.columns.order;
button.type = "button";
button.disabled = to < 2 || to >= order.length;
button.setAttribute("aria-label", "move " + head.text(k) + " to the " + side);
button.addEventListener("click", function() {
order.splice(to, 0, order.splice(i + 2, 1)[0]);
changed();
show();
list.children[to - 2].querySelectorAll("button")[by < 0 ? 0 : 1].focus();
});
return button;
}
function show() {
list.textContent = "";
now.columns.order.slice(2).forEach(function(k, i) {
var item = make("li"), label = item.appendChild(make("label")), box = label.appendChild(make("input"));
box.type = "checkbox";
box.checked = now.columns.visible[k];
box.addEventListener("change", function() {
now.columns.visible[k] = box.checked;
changed();
});
label.appendChild(document.createTextNode(" " + head.text(k)));
item.appendChild(mover(k, i, "←", -1, "left"));
item.appendChild(mover(k, i, "→", 1, "right"));
list.appendChild(item);
});
}
return show;
}

function opSelect(list, value) {
list.value = value;
if (list.selectedIndex < 0) { list.value = ""; }
}
function opOptions(list, pairs, first) {
var chosen = list.value;
list.textContent = "";
[["", first]].concat(pairs).forEach(
function(pair) { list.appendChild(make("option", "", pair[1])).value = pair[0]; });
opSelect(list, chosen);
}

function opCopy(now) {
var status = now.part("status");
function failed() { status.textContent = "The browser did not allow copying; download the CSV instead."; }
if (!navigator.clipboard) {
failed();
return;
}
navigator.clipboard.writeText(opLines(now.shown, now.columns, "\t", false))
.then(function() { status.textContent = "Copied " + exact(now.shown.length) + " rows."; }, failed);
}
function opKeep(now, entries, columns) {
var link = make("a"), label = now.part("label").textContent.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "");
link.href = URL.createObjectURL(new Blob([opLines(entries, columns, ",", true)], { type: "text/csv" }));
link.download = "operations-" + label + ".csv";
link.click();
setTimeout(function() { URL.revokeObjectURL(link.href); }, 0);
}
var FOUND_MOST = 50;

function opWordsOf(entry) {
var words = [entry[0], entry[1], entry[3]];
if (entry[2] !== null) { words.push("layer " + entry[2]); }
return words.join("\n").toLowerCase();
}
function opMatches(index, text) {
var words = text.toLowerCase().split(/\s+/).filter(Boolean), numbers = [];
index.words.forEach(function(candidate, i) {
if (words.every(function(word) { return candidate.indexOf(word) >= 0; })) { numbers.push(i); }
});
return numbers;
}
function opPlaces(index, passes, i) {
var places = [];
passes.forEach(function(pass) {
var nodes = pass.graph === null ? undefined : index.maps[index.graphs[pass.graph]][i];
if (nodes) { places.push([pass, nodes]); }
});
return places;
}

function opLink(pass, node, text) {
var link = make("a", "", text);
link.href = "#pass=" + pass.id + "&node=" + node;
return link;
}
function opFoundHere(item, place) {
item.appendChild(document.createTextNode(" in this pass: "));
place[1].slice(0, 6).forEach(function(node, k) {
if (k) { item.appendChild(document.createTextNode(", ")); }
item.appendChild(opLink(place[0], node, "node " + node));
});
if (place[1].length > 6) { item.appendChild(document.createTextNode(", …")); }
}
function opFoundPasses(places) {
var list = make("ul"), more = places.length - FOUND_MOST;
places.slice(0, FOUND_MOST).forEach(function(place) {
list.appendChild(make("li")).appendChild(opLink(place[0], place[1][0], place[0].id + ": " + place[0].label));
});
if (more > 0) {
list.appendChild(make("li", "", "… and " + exact(more) + " more, up to pass " + places[places.length - 1][0].id));
}
return list;
}
function opFound(entry, places, shown, open, toggle) {
var item = make("li"), here = places.filter(function(place) { return place[0].id === shown; })[0];
item.appendChild(make("code", "", entry[0]));
item.appendChild(make("small", "",
" " + entry[1] + (entry[2] === null ? "" : ", layer " + entry[2]) + ", " + entry[3]));
if (here) { opFoundHere(item, here); }
var more = make("button", "", "in " + exact(places.length) + (places.length === 1 ? " pass" : " passes"));
more.type = "button";
more.setAttribute("aria-expanded", String(open));
more.addEventListener("click", toggle);
item.appendChild(document.createTextNode(" "));
item.appendChild(more);
if (open) { item.appendChild(opFoundPasses(places)); }
return item;
}

function opFind(root, state, shown) {
var index = null, box = root.querySelector("[data-tg=find]"), list = root.querySelector("[data-tg=found]");
var status = root.querySelector("[data-tg=find-status]"), open = null;
window.tracegenIndex = function(data) { index = data; };

function describe(i) {
return opFound(index.entries[i], opPlaces(index, state.passes, i), shown(), open === i, function() {
open = open === i ? null : i;
show();
});
}
function show() {
list.textContent = "";
if (!box.value.trim()) {
status.textContent = "";
return;
}
var matches = opMatches(index, box.value);
var many = exact(matches.length) + (matches.length === 1 ? " match" : " matches");
if (matches.length > FOUND_MOST) { many += ", the first " + FOUND_MOST + " shown"; }
status.textContent = matches.length ? many : "Nothing in this run has this name.";
matches.slice(0, FOUND_MOST).forEach(function(i) { list.appendChild(describe(i)); });
}
function search() {
open = null;
if (index) {
show();
return;
}
status.textContent = "Loading …";
script(state.data + "index.js",
function() {
index.words = index.entries.map(opWordsOf);
show();
},
function() { status.textContent = "The names of this run could not be loaded."; });
}
box.addEventListener("input", search);
return {
passChanged: function() {
if (index && box.value) { show(); }
}
};
}
var LAYER_QUANTITIES = [
{ key: "duration", name: "wall time" }, { key: "work", name: "work of all threads" },
{ key: "waiting", name: "waiting of all threads" }, { key: "disk", name: "mapped bytes touched", bytes: true },
{ key: "copied", name: "copied bytes touched", bytes: true },
{ key: "buffer", name: "bytes touched in buffers", bytes: true }
];
function layerOptions(select) {
var where = kindOfMemory("copied");
LAYER_QUANTITIES.forEach(function(quantity) {
var there = quantity.key === "copied" && where !== "copied";
select.appendChild(make("option", "", there ? "bytes touched " + where : quantity.name)).value = quantity.key;
});
}
function layerUnit(quantity, most) {
if (quantity.bytes) {
return most < 1e8 ? { name: "KiB", scale: 1024, digits: 1 } : { name: "MiB", scale: 1024 * 1024, digits: 3 };
}
return most < 1e8 ? { name: "µs", scale: 1e3, digits: 1 } : { name: "ms", scale: 1e6, digits: 3 };
}

function layerAdded(sum, value) {
return value === null || value === undefined ? sum : (sum === undefined || sum === null ? 0 : sum) + value;
}
function layerSums(entries) {
var sums = {};
entries.forEach(function(entry) {
var key = (entry.at.layer === null ? "none" : entry.at.layer) + "|" + entry.at.group,
sum = sums[key] = sums[key] || {};
["duration", "work", "disk", "copied", "buffer"].forEach(
function(name) { sum[name] = layerAdded(sum[name], entry.at[name]); });
sum.waiting = layerAdded(layerAdded(sum.waiting, entry.at.barrier), entry.at.wait);
});
return sums;
}
function layerMeans(panel) {
var means = {};
panel.means.forEach(function(row) {
means[(row[0] === null ? "none" : row[0]) + "|" + row[1]] = {
duration: row[2],
work: row[3],
waiting: layerAdded(layerAdded(null, row[4]), row[5]),
disk: row[6],
copied: row[7],
buffer: row[8]
};
});
return means;
}
function layerAxes(sums, means, order) {
var layers = {}, groups = {};
Object.keys(sums).concat(Object.keys(means)).forEach(function(key) {
var at = key.indexOf("|");
layers[key.slice(0, at)] = groups[key.slice(at + 1)] = true;
});
return {
layers: Object.keys(layers).sort(function(a, b) { return a === "none" ? 1 :
b === "none"      ? -1 :
a - b; }),
groups: order.filter(function(group) { return groups[group]; })
};
}
function layerTotal(sums, keys, name) {
return keys.reduce(function(total, key) { return layerAdded(total, sums[key] && sums[key][name]); }, null);
}

function layerCell(row, tag, value, mean, unit, most) {
var cell = row.appendChild(make(tag, "tg-n tg-heat")), button = cell.appendChild(make("button"));
button.type = "button";
button.appendChild(make("span", "", fixed(value, unit.scale, unit.digits)));
button.appendChild(make("small", "", fixed(mean, unit.scale, unit.digits)));
if (most && value) { cell.style.setProperty("--share", (value / most).toFixed(4)); }
return button;
}

function layerTable(box, sums, panel, quantity, chosen, pick) {
var means = layerMeans(panel), axes = layerAxes(sums, means, panel.order),
table = make("table", "tg-table tg-layers");
var head = table.appendChild(make("thead")).appendChild(make("tr")), body = table.appendChild(make("tbody"));
var most = Object.keys(sums).reduce(function(top, key) { return Math.max(top, sums[key][quantity.key] || 0); }, 0);
var all = Object.keys(sums), unit = layerUnit(quantity, layerTotal(sums, all, quantity.key) || 0);
function of (layers, groups) {
var keys = [];
layers.forEach(function(layer) { groups.forEach(function(group) { keys.push(layer + "|" + group); }); });
return keys;
}
function put(row, tag, layer, group) {
var keys = of(layer === null ? axes.layers : [layer], group === null ? axes.groups : [group]);
var absent = !keys.some(function(key) { return sums[key] || means[key]; });
if (absent) {
row.appendChild(make(tag, "tg-n"));
return;
}
var button = layerCell(row, tag, layerTotal(sums, keys, quantity.key), layerTotal(means, keys, quantity.key), unit,
layer === null || group === null ? 0 : most);
button.setAttribute("aria-pressed",
String((layer || "") === (chosen.layer || "") && (group || "") === (chosen.group || "")));
button.setAttribute("aria-label", [
layer === null ? "all layers" : selectionNames.layer(layer), group === null ? "all components" : group,
button.firstChild.textContent + " " + unit.name, "mean " + button.lastChild.textContent
].join(", "));
button.addEventListener("click", function() { pick(layer, group); });
}
head.appendChild(make("th", "", "Layer, " + unit.name)).scope = "col";
axes.groups.forEach(function(group) {
var cell = head.appendChild(make("th", "tg-n")), dot = cell.appendChild(make("i", "tg-dot"));
dot.setAttribute("data-group", group);
cell.appendChild(document.createTextNode(group));
cell.scope = "col";
});
head.appendChild(make("th", "tg-n", "all")).scope = "col";
axes.layers.concat([null]).forEach(function(layer) {
var row = body.appendChild(make("tr")), name = layer === null ? "all" : layer === "none" ? "no layer" : layer;
row.appendChild(make("th", "", name)).scope = "row";
axes.groups.concat([null]).forEach(function(group) { put(row, "td", layer, group); });
});
box.textContent = "";
box.appendChild(table);
}
var TENSORS_SHOWN = 5;
var TENSOR_QUANTITIES = [
{ key: "waited", name: "Waited", needs: "waited_ns" },
{ key: "read", name: "Read", needs: "read_bytes", bytes: true }, { key: "touched", name: "Touched", bytes: true }
];
function tensorQuantities(recorded) {
return TENSOR_QUANTITIES.filter(function(quantity) { return !quantity.needs || recorded[quantity.needs]; });
}

function panelTensors(pass, known) {
var sums = {};
function of (name, memory, file, offset) {
sums[name] =
sums[name] || { name: name, touched: 0, waited: 0, read: 0, memory: memory, file: file, offset: offset };
return sums[name];
}
pass.node.forEach(function(node) {
operandsOf(pass, node).forEach(function(o) {
var used = pass.units[node + "." + o[0]], bytes = used && used.bytes !== null ? used.bytes : o[7];
if ((o[2] === "disk" || o[2] === "copied") && bytes) { of(o[1], o[2], o[3], o[5]).touched += bytes; }
});
});
(pass.from_disk || []).forEach(function(row) {
var tensor = known[row[0]], sum = of(tensor[0], "disk", tensor[1], tensor[2]);
sum.waited += row[2];
sum.read += row[3];
});
return Object.keys(sums).map(function(name) { return sums[name]; });
}
function tensorsBy(tensors, key) {
var keys = [key].concat(TENSOR_QUANTITIES.map(function(quantity) { return quantity.key; }));
return tensors.slice().sort(function(a,
b) { return keys.reduce(function(less, k) { return less || b[k] - a[k]; }, 0) || (a.name < b.name ? -1 : 1); });
}

function tensorCounts(tensors, most, reads) {
var read = tensors.filter(function(tensor) { return tensor.read > 0; }).length;
return (reads ? exact(read) + " were read. " : "") +
(tensors.length > most ? "The first " + most + " of " + exact(tensors.length) + "." : "");
}
function tensorHead(table, quantities, units, key, sort) {
var row = table.createTHead().insertRow();
function cell(className, text) {
var head = row.appendChild(make("th", className, text));
head.scope = "col";
return head;
}
cell("", "Tensor");
quantities.forEach(function(quantity, i) {
var head = cell("tg-n"), button = head.appendChild(make("button", "tg-sort", quantity.name + " "));
button.type = "button";
button.appendChild(make("small", "", units[i].name));
button.addEventListener("click", function() { sort(quantity.key); });
if (quantity.key === key) { head.setAttribute("aria-sort", "descending"); }
});
cell("", "Memory");
}
function tensorRow(row, name, values, units, memory) {
row.appendChild(name).scope = "row";
values.forEach(function(value,
i) { row.appendChild(make("td", "tg-n", fixed(value, units[i].scale, units[i].digits))); });
row.appendChild(make("td", "", memory));
}
function tensorTable(box, tensors, show) {
var table = make("table", "tg-table tg-sums"), body = table.appendChild(make("tbody"));
var quantities = tensorQuantities(show.recorded);
function sum(key) {
return tensors.reduce(function(total, tensor) { return total + tensor[key]; }, 0);
}
var sums = quantities.map(function(quantity) { return sum(quantity.key); });
var units = quantities.map(function(quantity, i) { return layerUnit(quantity, sums[i]); });
tensorHead(table, quantities, units, show.key, show.sort);
tensorsBy(tensors, show.key).slice(0, show.most).forEach(function(tensor) {
var name = make("th", "tg-code");
if (show.linked && tensor.file !== null && tensor.offset !== null) {
name.appendChild(make("a", "", tensor.name)).href =
"../file/index.html#pass=" + show.pass + "&file=" + tensor.file + "&offset=" + tensor.offset;
} else {
name.textContent = tensor.name;
}
tensorRow(body.insertRow(), name, quantities.map(function(quantity) { return tensor[quantity.key]; }), units,
kindOfMemory(tensor.memory));
});
tensorRow(table.createTFoot().insertRow(), make("th", "", "all " + exact(tensors.length)), sums, units, "");
box.textContent = "";
box.appendChild(table);
}
var WORDS_AROUND = 12;

function wordOf(row) {
return { text: row[0], id: row[1], generated: row[2], taken: row[3], given: row[4], position: row[5] };
}
function wordName(word) {
return word.generated === null ? "position " + word.position + " of the prompt" : "token " + word.generated;
}
function wordsOfPass(words, id) {
var taken = [], given = null;
words.forEach(function(row, i) {
if (row[3] === id) { taken.push(i); }
if (row[4] === id) { given = i; }
});
return { taken: taken, given: given };
}

function panelWords(box, words, at, pick) {
var middle = at.given !== null ? at.given : at.taken.length ? at.taken[at.taken.length - 1] : null;
box.textContent = "";
box.hidden = middle === null;
if (middle === null) { return; }
var from = Math.max(0, middle - WORDS_AROUND), to = Math.min(words.length, middle + WORDS_AROUND + 1);
if (from > 0) { box.appendChild(document.createTextNode("… ")); }
words.slice(from, to).forEach(function(row, k) {
var word = wordOf(row), i = from + k, pass = word.given !== null ? word.given : word.taken;
var link = make(pass === null ? "span" : "a", "tg-word", word.text);
link.title = wordName(word) + (word.id === null ? "" : ", id " + word.id);
if (word.generated === null) { link.classList.add("tg-of-prompt"); }
if (at.taken.indexOf(i) >= 0) { link.classList.add("tg-taken"); }
if (at.given === i) { link.setAttribute("aria-current", "true"); }
if (pass !== null) {
link.href = "#pass=" + pass;
link.addEventListener("click", function(event) {
event.preventDefault();
pick(pass);
});
}
box.appendChild(link);
});
if (to < words.length) { box.appendChild(document.createTextNode(" …")); }
}
function panelSentence(words, at) {
function quoted(i) {
var word = wordOf(words[i]);
return "“" + word.text + "”" + (word.id === null ? "" : " (id " + word.id + ")");
}
var parts = [];
if (at.taken.length === 1) { parts.push("Input token " + quoted(at.taken[0])); }
if (at.taken.length > 1) { parts.push("Input: " + at.taken.length + " tokens of the prompt"); }
if (at.given !== null) { parts.push((parts.length ? "output token " : "Output token ") + quoted(at.given)); }
return parts.length ? parts.join("; ") + "." : "";
}

function panelExpertRows(body, pass, chosen, pick) {
body.textContent = "";
(pass.experts || []).forEach(function(layer) {
var row = body.appendChild(make("tr")), list = make("td");
row.appendChild(make("th", "tg-n", String(layer[0]))).scope = "row";
layer[1].forEach(function(pair) {
var button = list.appendChild(make("button", "tg-expert", String(pair[0])));
button.type = "button";
button.setAttribute("aria-pressed",
String(chosen.expert === String(pair[0]) && chosen.layer === String(layer[0])));
if (pair[1] !== null) { button.appendChild(make("small", "", pair[1].toFixed(3))); }
button.addEventListener("click", function() { pick(layer[0], pair[0]); });
});
row.appendChild(list);
});
}

function keyAmong(quantities, key) {
return quantities.some(function(quantity) { return quantity.key === key; }) ? key : "";
}

function tokenPanel(root, state, changed) {
var panel = state.panel, means = layerMeans(panel), now = null, every = false, order = "";
var usual = tensorQuantities(panel.recorded)[0].key;
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
layerOptions(part("quantity"));
function pick(changes) { choose(Object.assign({ node: null, component: null, pass: now.pass.id }, changes)); }
function answer(quantity, sums, chosen) {
var axes = layerAxes(sums, means, panel.order);
var layers = chosen.layer ? [chosen.layer] : axes.layers, groups = chosen.group ? [chosen.group] : axes.groups,
keys = [];
layers.forEach(function(layer) { groups.forEach(function(group) { keys.push(layer + "|" + group); }); });
function said(of) {
var total = layerTotal(of, keys, quantity.key);
return total === null ? "not recorded" : quantity.bytes ? bytesOf(total) : took(total);
}
var what = [chosen.layer ? selectionNames.layer(chosen.layer) : "all layers", chosen.group || "all components"];
return what.join(", ") + ": " + quantity.name + " " + said(sums) + " in " + selectionNames.pass(now.pass.id) +
"; " + said(means) + " in the mean of " + exact(panel.n_means) + " " + panel.phase +
(panel.n_means === 1 ? " pass." : " passes.");
}
function tensors() {
var all = panelTensors(now.pass, panel.tensors), n = all.length;
tensorTable(part("tensors"), all, {
recorded: panel.recorded,
linked: state.memory,
pass: now.pass.id,
most: every ? Infinity : TENSORS_SHOWN,
key: order || usual,
sort: function(key) {
order = key === usual ? "" : key;
changed();
part("tensors").querySelector("[aria-sort] button").focus();
}
});
part("tensor-count").textContent = tensorCounts(all, every ? n : TENSORS_SHOWN, panel.recorded.read_bytes);
part("tensor-all").hidden = every || n <= TENSORS_SHOWN;
}
function draw() {
if (!now) { return; }
var chosen = selected(addressWords()), sums = layerSums(now.entries),
quantity = LAYER_QUANTITIES[Math.max(part("quantity").selectedIndex, 0)];
var at = wordsOfPass(panel.words, now.pass.id);
panelWords(part("words"), panel.words, at, function(id) { pick({ pass: id }); });
part("word").textContent = panelSentence(panel.words, at);
layerTable(part("layers"), sums, panel, quantity, chosen,
function(layer, group) { pick({ layer: layer, group: group, expert: null }); });
part("answer").textContent = answer(quantity, sums, chosen);
tensors();
if (!part("experts")) { return; }
panelExpertRows(part("expert-rows"), now.pass, chosen,
function(layer, expert) { pick({ layer: layer, expert: expert, group: null }); });
part("expert-note").textContent = now.pass.experts ?
"The experts that the token chose which this pass took in." :
"Which experts one token chose is not known here: the pass took in several, or choices were not recorded.";
}
part("quantity").addEventListener("change", function() { changed(); });
part("tensor-all").addEventListener("click", function() {
every = true;
changed();
part("tensors").focus();
});
part("panel").hidden = false;
return {
draw: draw,
words: function() {
var key = part("quantity").value;
return { layers: key === LAYER_QUANTITIES[0].key ? "" : key, tensors: order + (every ? ":all" : "") };
},
restore: function(to) {
part("quantity").value = keyAmong(LAYER_QUANTITIES, to.layers) || LAYER_QUANTITIES[0].key;
order = keyAmong(tensorQuantities(panel.recorded), (to.tensors || "").split(":")[0]);
every = (to.tensors || "").split(":")[1] === "all";
},
show: function(pass, entries) {
now = { pass: pass, entries: entries };
draw();
}
};
}
function operations(state) {
var root = document.querySelector("[data-tg=operations]"), scroller = root.querySelector("[data-tg=table]"), chosen;
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
scroller.hidden = part("controls").hidden = part("tools").hidden = false;
var passes = operationsPasses(part, state, { take: take, changed: function() { find.passChanged(); }, mark: mark });
var view = opWindow(scroller, part("rows"),
function(entry) { return opEntryRows(entry, tools, chosen, passes.graph(), state); });
selectionNames.pass = passes.name;
var tools = opRows(root, view, state.groups, remember), find = opFind(root, state, passes.shown),
panel = tokenPanel(root, state, remember);

function take(pass) {
tools.take(pass);
panel.show(pass, tools.model());
}
function mark(node) {
var entry = node === undefined ? undefined : tools.entry(node);
chosen = entry ? node : undefined;
if (node !== undefined && !entry) { passes.tell("Pass " + passes.shown() + " lists no node " + node + "."); }
if (entry && entry.hidden) { passes.tell("The filter hides node " + node + "."); }
if (entry) { entry.open = true; }
view.draw();
if (entry && !entry.hidden) {
view.reveal(entry);
part("list").scrollIntoView({ block: "start" });
}
}
function remember(id) {
putAddress(Object.assign({ pass: id === undefined ? passes.shown() : id, node: chosen }, tools.words(),
panel.words()));
panel.draw();
}
function go(id) {
remember(id);
passes.show(id, chosen);
}
function follow() {
var to = address(), id = to.pass === undefined ? state.shown : to.pass;
tools.restore(addressWords());
panel.restore(addressWords());
panel.draw();
if (passes.has(id)) {
passes.show(id, to.pass === undefined ? undefined : to.node); /* a node belongs to a pass */
} else {
passes.tell("This run has no pass " + id + " with operations.");
}
}
part("csv").addEventListener("click", function(event) {
if (passes.shown() === state.shown) { return; }
event.preventDefault();
tools.keepWhole();
});
operationsInput(part, {
go: go,
step: function(by) {
var next = passes.beside(by);
if (next) { go(next.id); }
},
unfold: function(node) {
var entry = tools.entry(node);
entry.open = !entry.open;
chosen = node;
view.draw();
remember();
}
});
whenSelected(follow);
passes.put(state.shown);
if (location.hash.length > 1) { follow(); }
}

function operationsPasses(part, state, to) {
var order = state.passes, place = {}, shown = null, wanted = null;
order.forEach(function(pass, i) { place[pass.id] = i; });
function tell(text) { part("status").textContent = text; }
function name(id) {
return !/^\d+$/.test(id) || place[id] === undefined ? "pass " + id : passName(id, order[place[id]].label);
}
function rows(id) { return passOf(id, order[place[id]].static); }
function put(id) {
shown = id;
to.take(rows(id));
part("label").textContent = name(id);
part("about").textContent = order[place[id]].about;
part("left-out").textContent = order[place[id]].left_out + " of " + name(id);
part("csv").textContent = order[place[id]].label + " (CSV)";
tell("");
part("choose").value = String(id);
part("previous").disabled = place[id] === 0;
part("next").disabled = place[id] === order.length - 1;
to.changed();
}
function arrived(id, node) {
if (wanted !== id) { return; }
if (!rows(id)) {
tell("The rows of pass " + id + " are missing.");
return;
}
put(id);
to.mark(node);
}
return {
put: put,
tell: tell,
name: name,
shown: function() { return shown; },
has: function(id) { return place[id] !== undefined; },
beside: function(by) { return order[place[shown] + by]; },
graph: function() { return order[place[shown]].graph; },
show: function(id, node) {
wanted = id;
if (id === shown) {
tell("");
to.mark(node);
return;
}
tell("Loading …");
loadPass(order[place[id]], state.data, function() { arrived(id, node); },
function() { tell("The rows of pass " + id + " could not be loaded."); });
}
};
}

function opEntryRows(entry, tools, chosen, graph, state) {
var pass = tools.pass(), node = entry.at.node;
if (!entry.row) { entry.row = tools.arranged(opRow(pass, entry.i, entry.longest, state.groups)); }
entry.row.classList.toggle("tg-chosen", node === chosen);
entry.row.querySelector("button").setAttribute("aria-expanded", String(entry.open));
if (!entry.open) { return [entry.row]; }
if (!entry.detail) {
entry.detail = make("tr", "tg-detail tg-open");
entry.detail.appendChild(operandsCell(pass, node, graph, state));
}
return [entry.row, entry.detail];
}

function operationsInput(part, acts) {
part("choose").addEventListener("change", function(event) { acts.go(parseInt(event.target.value, 10)); });
part("previous").addEventListener("click", function() { acts.step(-1); });
part("next").addEventListener("click", function() { acts.step(1); });
part("rows").addEventListener("click", function(event) {
var row = event.target.closest("tr.tg-op");
if (row && event.target.closest("button")) { acts.unfold(parseInt(row.getAttribute("data-node"), 10)); }
});
paged(acts.step);
document.addEventListener("keydown", function(event) {
if (event.key !== "/" || !pageKey(event)) { return; }
event.preventDefault();
part("filter").focus();
});
}

starts.push(function() {
var state = stateOf("tg-operations"), first;
if (!state || state.shown === null) { return; }
first = state.passes.filter(function(pass) { return pass.id === state.shown; })[0];
loadPass(first, state.data,
function() {
operations(state);
selectionBar();
},
function() {
document.querySelector("[data-tg=operations] [data-tg=controls]").hidden = false;
document.querySelector("[data-tg=operations] [data-tg=status]").textContent =
"The operations could not be loaded.";
});
});

function memorySums() { return { use: new Map(), n: 0 }; }
var MEMORY_SUMS = ["n_uses", "touched_bytes", "used_bytes", "work_ns", "waited_ns", "read_bytes"];
function memoryNothing() {
var nothing = { copied: false };
MEMORY_SUMS.forEach(function(name) { nothing[name] = 0; });
return nothing;
}
function memoryAdd(to, piece, part) {
var sums = to.use.get(piece);
if (!sums) { to.use.set(piece, sums = memoryNothing()); }
sums.copied = sums.copied || part.copied;
MEMORY_SUMS.forEach(
function(name) { sums[name] = sums[name] === null || part[name] === null ? null : sums[name] + part[name]; });
}

function memoryRanges(data, o, used) {
var start = data.files[o[3]][1] + o[5];
if (!used || used.size === null) { return o[7] ? [[start, o[7]]] : []; }
return used.runs.map(function(run) { return [start + run[0] * used.size, run[1] * used.size]; });
}
function memoryUnion(ranges) {
var total = 0, reach = -1;
ranges.sort(function(a, b) { return a[0] - b[0]; }).forEach(function(range) {
total += Math.max(range[1] - Math.max(range[0], reach), 0);
reach = Math.max(reach, range[1]);
});
return total;
}
function memoryUsed(data, pieces, pass, disk) {
var sums = memorySums(), ranges = new Map(), unknown = {};
["waited_ns", "read_bytes"].forEach(function(name) {
if (!disk || data.top[name] === undefined) { unknown[name] = null; }
});
sums.n = 1;
function hits(range, hit) {
var end = range[0] + range[1], k = firstWhere(pieces.length, function(i) { return pieces[i].end > range[0]; });
for (; k < pieces.length && pieces[k].begin < end; k += 1) {
var share = Math.min(end, pieces[k].end) - Math.max(range[0], pieces[k].begin);
if (share <= 0) { continue; }
hit.set(k, (hit.get(k) || 0) + share);
if (!ranges.has(k)) { ranges.set(k, []); }
ranges.get(k).push([Math.max(range[0], pieces[k].begin), Math.min(end, pieces[k].end)]);
}
}
pass.node.forEach(function(node, i) {
operandsOf(pass, node).forEach(function(o) {
if (o[3] === null || o[5] === null) { return; }
var hit = new Map();
memoryRanges(data, o, pass.units[node + "." + o[0]]).forEach(function(range) { hits(range, hit); });
hit.forEach(function(bytes, k) {
var more = { copied: o[2] === "copied", n_uses: 1, touched_bytes: bytes, work_ns: pass.work[i] };
memoryAdd(sums, k, Object.assign(memoryNothing(), unknown, more));
});
});
});
ranges.forEach(function(of, k) { sums.use.get(k).used_bytes = memoryUnion(of); });
(disk || []).forEach(function(row) {
memoryAdd(sums, row[0], Object.assign(memoryNothing(), { waited_ns: row[1], read_bytes: row[2] }));
});
return sums;
}

function memoryData(data) {
var tensor = unpack(data.cut.tensor), expert = unpack(data.cut.expert), size = unpack(data.cut.size), last = 0;
var begin = unpack(data.cut.begin).map(function(gap) { return (last += gap); });
var pieces = tensor.map(function(number, i) {
var about = data.tensors[number];
return {
i: i,
tensor: number,
expert: expert[i],
begin: begin[i],
size: size[i],
end: begin[i] + size[i],
name: about[0],
layer: about[1],
component: about[2],
dtype: about[3],
file: about[4],
offset: begin[i] - data.files[about[4]][1]
};
});
var rows = data.rows.map(function(row, number) {
var sums = memorySums(), at = 0, copied = unpack(row.copied), columns = {};
MEMORY_SUMS.forEach(function(name) { columns[name] = row[name] === undefined ? null : unpack(row[name]); });
unpack(row.piece).forEach(function(gap, k) {
var part = { copied: Boolean(copied[k]) };
MEMORY_SUMS.forEach(function(name) { part[name] = columns[name] && columns[name][k]; });
at += gap;
memoryAdd(sums, at, part);
});
sums.n = row.n;
sums.label = row.label;
sums.outside = row.outside;
sums.first = row.first;
sums.buffers = row.buffers;
sums.passes = data.passes.filter(function(entry) { return entry[4] === number; });
return sums;
});

function together(which, singles) {
var sums = memorySums();
which.map(function(k) { return rows[k]; }).concat(singles || []).forEach(function(used) {
used.use.forEach(function(part, piece) { memoryAdd(sums, piece, part); });
sums.n += used.n;
});
return sums;
}
var places = new Map(pieces.map(function(piece) { return [piece.tensor + "," + piece.expert, piece.i]; }));
function ofPass(pass) {
return memoryUsed(data, pieces, pass,
pass.from_disk &&
pass.from_disk.map(function(row) { return [places.get(row[0] + "," + row[1]), row[2], row[3]]; }));
}
function lies(file, offset) {
function holds(piece) {
return piece.file === file && piece.offset <= offset && offset < piece.offset + piece.size;
}
return pieces.filter(holds)[0] || null;
}
function firstOf(number) {
return pieces.filter(function(piece) { return piece.tensor === number; })[0];
}
function expertOf(number, chosen) {
return pieces.filter(function(piece) { return piece.tensor === number && piece.expert === chosen; })[0];
}
return {
data: data,
expertOf: expertOf,
pieces: pieces,
rows: rows,
lanes: rows,
together: together,
ofPass: ofPass,
firstOf: firstOf,
lies: lies
};
}
var MEMORY_COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map(function(i) { return "--tg-s" + i; });
var MEMORY_STEPS = MEMORY_COLOURS.length, MEMORY_LEFT = 120, MEMORY_RULER = 34;

function memoryScale(top) {
var ends = [];
for (var i = 0; i < MEMORY_STEPS; i += 1) {
ends.push(top <= MEMORY_STEPS ? i + 1 : top / Math.pow(4, MEMORY_STEPS - 1 - i));
}
return {
ends: ends,
colours: MEMORY_COLOURS,
kind: top <= MEMORY_STEPS ? "linear scale" : "logarithmic scale",
step: function(value) {
var k = 0;
while (k < MEMORY_STEPS - 1 && value > ends[k] * (1 + 1e-9)) { k += 1; }
return k;
}
};
}

function memoryShares() {
var ends = [0.01];
for (var i = 1; i <= MEMORY_STEPS; i += 1) { ends.push(i / MEMORY_STEPS); }
return {
ends: ends,
colours: ["--tg-small"].concat(MEMORY_COLOURS),
kind: "linear scale above 1 %",
step: function(value) {
return value <= 0.01 ? 0 : Math.max(1, Math.min(Math.ceil(value * MEMORY_STEPS - 1e-9), MEMORY_STEPS));
}
};
}
function memoryWorth(block, lane, quantity) {
var sums = block.sums;
if (quantity === "share") {
return sums.used_bytes / (block.bytes || block.size) / (block.n || lane.passes || lane.n);
}
return sums[quantity] === null ? null : sums[quantity] / (block.n || lane.n);
}

function memoryPlaces(book, order) {
var at = new Float64Array(book.pieces.length), sorted = book.pieces.slice(), sum = 0;
if (order === "file") {
book.pieces.forEach(function(piece) { at[piece.i] = piece.begin; });
return { at: at, total: book.data.total, sorted: sorted };
}
sorted.sort(function(a,
b) { return (a.layer === null ? -1 : a.layer) - (b.layer === null ? -1 : b.layer) || a.begin - b.begin; });
sorted.forEach(function(piece) {
at[piece.i] = sum;
sum += piece.size;
});
return { at: at, total: sum, sorted: sorted };
}

function memoryLanes(book, view, places, chosen) {
function layerName(layer) { return layer === null ? "no layer" : "layer " + layer; }
var lanes = [], total = places.total, byLayer = new Map();
if (view === "tokens") {
book.lanes.forEach(function(row) {
var blocks = [];
row.use.forEach(function(sums,
i) { blocks.push({ piece: book.pieces[i], from: places.at[i], size: book.pieces[i].size, sums: sums }); });
lanes.push({ name: row.label, n: row.n, row: row, blocks: blocks, outside: row.outside });
});
return { lanes: lanes, total: total, all: places };
}
book.pieces.forEach(function(piece) {
if (!byLayer.has(piece.layer)) { byLayer.set(piece.layer, []); }
byLayer.get(piece.layer).push(piece);
});
var layers =
Array.from(byLayer.keys()).sort(function(a, b) { return (a === null ? -1 : a) - (b === null ? -1 : b); });
if (view === "layers") {
total = 0;
layers.forEach(function(layer) {
var sum = 0, blocks = byLayer.get(layer).map(function(piece) {
var block = { piece: piece, from: sum, size: piece.size, sums: chosen.use.get(piece.i) || null };
sum += piece.size;
return block;
});
total = Math.max(total, sum);
lanes.push({ name: layerName(layer), n: chosen.n, passes: chosen.passes || chosen.n, blocks: blocks });
});
return { lanes: lanes, total: total };
}
layers.forEach(function(layer) {
var bytes = byLayer.get(layer).reduce(function(sum, piece) { return sum + piece.size; }, 0);
var blocks = book.rows.map(function(row, k) {
var of = memorySums(), sums;
byLayer.get(layer).forEach(function(piece) {
var part = row.use.get(piece.i); /* a fused operation has no time of its own */
if (part) { memoryAdd(of, layer, part.work_ns === null ? Object.assign({}, part, { work_ns: 0 }) : part); }
});
sums = of.use.get(layer) || memoryNothing();
return {
piece: null,
row: k,
from: k,
size: 1,
bytes: bytes,
sums: sums.n_uses || sums.waited_ns || sums.read_bytes ? sums : null,
n: row.n
};
});
lanes.push({ name: layerName(layer), n: 1, blocks: blocks });
});
return { lanes: lanes, total: book.rows.length };
}

function memoryPixels(from, size, look, per, width, each) {
var a = (from - look.from) * per, b = a + size * per;
for (var px = Math.max(0, Math.floor(a)); px < Math.min(b, width); px += 1) {
each(px, (Math.min(b, px + 1) - Math.max(a, px)) / per);
}
}
function memoryNarrow(places, look, per, width) {
var bytes = new Float64Array(width);
places.sorted.forEach(function(piece) {
if (piece.size * per > 2) { return; }
memoryPixels(places.at[piece.i], piece.size, look, per, width, function(px, n) { bytes[px] += n; });
});
return bytes;
}
function memoryColumns(lane, bytes, look, per) {
var used = new Float64Array(bytes.length);
lane.blocks.forEach(function(block) {
if (!block.sums || block.size * per > 2) { return; }
var share = memoryWorth(block, lane, "share");
memoryPixels(block.from, block.size, look, per, bytes.length, function(px, n) { used[px] += n * share; });
});
return used.map(function(n, px) { return bytes[px] > 0 ? Math.min(1, n / bytes[px]) : 0; });
}

function memoryDrawColumns(pen, lane, bytes, look, per, how) {
memoryColumns(lane, bytes, look, per).forEach(function(share, px) {
if (!share) { return; }
pen.fillStyle = how.steps[look.scale.step(share)];
pen.fillRect(px, 0, 1, how.high);
});
pen.fillStyle = how.hatch;
lane.blocks.forEach(function(block) {
if (block.size * per > 2 || !block.sums || !block.sums.copied) { return; }
pen.fillRect((block.from - look.from) * per, 0, block.size * per, how.high);
});
}

function memoryDraw(canvas, layout, look, mark) {
var n = Math.max(layout.lanes.length, 1),
step = look.high ? Math.max(4, look.high / n) : Math.max(4, Math.min(18, 320 / n)),
ruler = look.bands ? MEMORY_RULER : 4;
var on = sharp(canvas, Math.round(ruler + step * layout.lanes.length + 24)), pen = on.pen,
left = Math.min(MEMORY_LEFT, on.width / 4);
var width = Math.max(on.width - left - 4, 1), per = width / (look.to - look.from);
var ink = colourOf(canvas, "--tg-ink"), muted = colourOf(canvas, "--tg-muted"), band = colourOf(canvas, "--tg-band"),
ground = colourOf(canvas, "--tg-ground");
var steps = look.scale.colours.map(function(name) { return colourOf(canvas, name); });
var hatch = memoryHatch(pen, ground),
columns = look.quantity === "share" && layout.all ? memoryNarrow(layout.all, look, per, Math.ceil(width)) : null;
function x(at) { return left + (at - look.from) * per; }
pen.save();
pen.beginPath();
pen.rect(left, 0, width, on.height);
pen.clip();
layout.lanes.forEach(function(lane, k) {
var y = ruler + k * step, high = Math.max(step - 1, 1);
pen.fillStyle = band;
pen.globalAlpha = 0.5;
pen.fillRect(left, y, width, high);
pen.globalAlpha = 1;
lane.blocks.slice().sort(function(a, b) { return b.size - a.size; }).forEach(function(block) {
if (!block.sums || block.from + block.size < look.from || block.from > look.to) { return; }
if (columns && block.size * per <= 2) { return; }
var value = memoryWorth(block, lane, look.quantity), a = x(block.from),
b = Math.max(x(block.from + block.size), a + 2);
if (value !== 0) {
pen.fillStyle = value === null ? muted : steps[look.scale.step(value)];
pen.fillRect(a, y, b - a > 4 ? b - a - 0.5 : b - a, high);
}
if (block.sums.copied) {
pen.fillStyle = hatch;
pen.fillRect(a, y, b - a, high);
}
});
});
if (columns) {
layout.lanes.forEach(function(lane, k) {
pen.save();
pen.translate(left, ruler + k * step);
memoryDrawColumns(pen, lane, columns, look, per, { high: Math.max(step - 1, 1), steps: steps, hatch: hatch });
pen.restore();
});
}
if (look.bands) { memoryBands(pen, look, x, ink, muted); }
if (mark && mark.block) {
(step < 8 ? [[ground, 3], [ink, 1]] : [[ground, 5], [ink, 2]]).forEach(function(stroke) {
pen.strokeStyle = stroke[0];
pen.lineWidth = stroke[1];
pen.strokeRect(x(mark.block.from) - 1, ruler + mark.lane * step - 1, Math.max(mark.block.size * per, 2) + 2,
Math.max(step - 1, 1) + 2);
});
}
pen.restore();
pen.fillStyle = muted;
pen.textAlign = "right";
var every = Math.max(1, Math.ceil(13 / step));
layout.lanes.forEach(function(lane, k) {
if (k % every === 0) { pen.fillText(lane.name, left - 6, ruler + k * step + step / 2, left - 8); }
});
pen.textAlign = "left";
pen.fillText(look.left, left, on.height - 10);
pen.textAlign = "right";
pen.fillText(look.right, left + width, on.height - 10);
return {
left: left,
width: width,
step: step,
ruler: ruler,
x: x,
at: function(px) { return look.from + (px - left) / per; },
per: per
};
}

function memoryHatch(pen, ground) {
var tile = document.createElement("canvas"), line;
tile.width = tile.height = 6;
line = tile.getContext("2d");
line.strokeStyle = ground;
line.globalAlpha = 0.75;
line.lineWidth = 1.4;
[[-1, 1, 1, -1], [0, 6, 6, 0], [5, 7, 7, 5]].forEach(function(l) {
line.beginPath();
line.moveTo(l[0], l[1]);
line.lineTo(l[2], l[3]);
line.stroke();
});
return pen.createPattern(tile, "repeat");
}

function memoryBands(pen, look, x, ink, muted) {
look.bands.forEach(function(band) {
var a = x(band.from), b = Math.max(x(band.to), a + 1);
if (b < 0 || band.to < look.from || band.from > look.to) { return; }
pen.fillStyle = band.colour;
pen.fillRect(a, 20, b - a, 8);
});
look.layers.forEach(function(range) {
var a = Math.max(x(range.from), x(look.from)), b = Math.min(x(range.to), x(look.to)),
text = range.layer === null ? "" :
b - a > 56                    ? "layer " + range.layer :
String(range.layer);
pen.fillStyle = muted;
if (b > a && text) { pen.fillRect(Math.round(a), 4, 1, 14); }
pen.fillStyle = ink;
pen.textAlign = "center";
if (text && pen.measureText(text).width < b - a - 6) { pen.fillText(text, (a + b) / 2, 10); }
});
}

function memoryLens(lens, lane, mark, look, book) {
var on = sharp(lens, 36), pen = on.pen;
if (!lane) { return; }
var span = (look.to - look.from) / 16, middle = mark.block.from + mark.block.size / 2, from = middle - span / 2,
per = on.width / span;
var ink = colourOf(lens, "--tg-ink"), hatch = memoryHatch(pen, colourOf(lens, "--tg-ground"));
lane.blocks.forEach(function(block) {
var a = (block.from - from) * per, b = a + Math.max(block.size * per, 2);
if (b < 0 || a > on.width || !block.sums) { return; }
var value = memoryWorth(block, lane, look.quantity), name = look.scale.colours[look.scale.step(value)];
pen.fillStyle = value === null ? ink : colourOf(lens, value === 0 ? "--tg-band" : name);
pen.fillRect(a, 0, b - a - 1, 16);
if (block.sums.copied) {
pen.fillStyle = hatch;
pen.fillRect(a, 0, b - a - 1, 16);
}
var text = block.piece ? block.piece.name + (block.piece.expert === null ? "" : " " + block.piece.expert) :
book.rows[block.row].label;
a = Math.max(a, 0);
b = Math.min(b, on.width);
pen.fillStyle = ink;
if (pen.measureText(text).width < b - a - 6) { pen.fillText(text, a + 2, 26); }
});
pen.strokeStyle = ink;
pen.lineWidth = 2;
pen.strokeRect((mark.block.from - from) * per, 1, Math.max(mark.block.size * per - 1, 2), 15);
}

function memoryLog(box, status, data, pass, piece, offset, graphs) {
var entry = { id: pass[0], chunk: pass[2], static: pass[3] };
function row(whole, node, o) {
var used = whole.units[node + "." + o[0]], line = make("tr"), first = make("th"), link = make("a", "", node),
about = whole.known.about[node];
link.href = "../operations/index.html#pass=" + entry.id + "&node=" + node;
first.scope = "row";
first.appendChild(link);
line.appendChild(first);
[about.op, about.name, o[0]].forEach(function(text) { line.appendChild(make("td", "tg-code", text)); });
line.appendChild(make("td", "tg-n", exact(used && used.bytes !== null ? used.bytes : o[7])));
line.appendChild(make("td", "", used ? unitText(used) : "whole"));
if (graphs) {
var way = line.appendChild(make("td")).appendChild(make("a", "", "node " + node));
way.href = "../graph/index.html#g" + pass[5] + "-n" + node;
}
return line;
}
status.textContent = "Loading …";
loadPass(entry, data + "ops/",
function() {
var whole = passOf(entry.id, entry.static), table = make("table", "tg-table"), head = make("tr"),
body = make("tbody");
status.textContent = "";
["Node", "Operation", "Result", "Operand", "Touched bytes", "Touched rows or experts"]
.concat(graphs ? ["In the graph"] : [])
.forEach(function(title) {
var th = make("th", "", title);
th.scope = "col";
head.appendChild(th);
});
whole.node.forEach(function(node) {
operandsOf(whole, node).forEach(function(o) {
if (o[3] === piece.file && o[5] === offset) { body.appendChild(row(whole, node, o)); }
});
});
box.textContent = "";
box.appendChild(make("p", "tg-title", "Operations of " + pass[1] + " that access " + piece.name));
if (!body.firstChild) {
box.appendChild(make("p", "tg-reason", "No operation of this pass accessed it."));
} else {
table.appendChild(make("thead")).appendChild(head);
table.appendChild(body);
box.appendChild(table);
}
box.hidden = false;
},
function() { status.textContent = "The operations could not be loaded."; });
}
function memoryStretch(book, measured, from, to) {
var within = new Map(), parts = { rows: [], passes: [] };
measured.forEach(function(k) {
if (k < from || k > to) { return; }
var row = book.data.passes[k][4];
if (!within.has(row)) { within.set(row, []); }
within.get(row).push(k);
});
within.forEach(function(passes, row) {
if (passes.length === book.rows[row].n) {
parts.rows.push(row);
} else {
parts.passes = parts.passes.concat(passes);
}
});
return parts;
}
function memoryChosen(chosen, to, measured, last) {
var several = { mean: true, sum: true };
if (to.mode !== undefined) {
if (several[to.mode] && !several[chosen.mode] && measured.length) {
chosen.from = measured[0];
chosen.to = measured[measured.length - 1];
}
chosen.mode = to.mode;
}
if (to.from !== undefined) {
chosen.from = Math.max(0, Math.min(to.from, last));
chosen.to = Math.max(chosen.to, chosen.from);
}
if (to.to !== undefined) {
chosen.to = Math.max(0, Math.min(to.to, last));
if (chosen.mode !== "one") { chosen.from = Math.min(chosen.from, chosen.to); }
}
}
function memorySingles(book, folder, changed, failed) {
var known = new Map(), wantedKey = null;
function get(k) {
var row = book.rows[book.data.passes[k][4]];
return row.n === 1 ? row : known.get(k) || null;
}
function load(wanted) {
var key = wanted.join(), left = wanted.length;
if (wantedKey === key) { return; }
wantedKey = key;
wanted.forEach(function(k) {
var entry = book.data.passes[k];
loadPass({ id: entry[0], chunk: entry[2], static: entry[3] }, folder,
function() {
if (wantedKey !== key) { return; }
known.set(k, book.ofPass(passOf(entry[0], entry[3])));
left -= 1;
if (left) { return; }
wantedKey = null;
changed();
},
function() {
if (wantedKey === key) { failed(); }
});
});
}
return {
get: get,
keep: function(wanted) {
known = new Map(Array.from(known).filter(function(entry) { return wanted.indexOf(entry[0]) >= 0; }));
},
want: function(lacking) {
if (lacking.length) {
load(lacking);
} else {
wantedKey = null;
}
}
};
}

function memoryPasses(book, folder, changed, failed) {
var list = book.data.passes, measured = [], chosen = { mode: "all", from: 0, to: 0 };
var singles = memorySingles(book, folder, changed, failed);
list.forEach(function(entry, k) {
if (!book.rows[entry[4]].outside) { measured.push(k); }
});
if (measured.length) { chosen.from = chosen.to = measured[0]; }
function inRange(k) { return k >= chosen.from && k <= chosen.to; }
function shown() {
if (chosen.mode === "one") { return { rows: [], passes: [chosen.to] }; }
return memoryStretch(book, measured, chosen.from, chosen.to);
}
function missing() {
return chosen.mode === "all" ? [] : shown().passes.filter(function(k) { return !singles.get(k); });
}

return {
chosen: chosen,
set: function(to) {
memoryChosen(chosen, to, measured, list.length - 1);
singles.keep(shown().passes);
singles.want(missing());
},
use: function() {
if (chosen.mode === "all") {
return book.together(Array.from(new Set(measured.map(function(k) { return list[k][4]; }))));
}
if (missing().length) { return book.rows[list[chosen.to][4]]; }
var parts = shown(), sums = book.together(parts.rows, parts.passes.map(singles.get));
sums.passes = sums.n;
if (chosen.mode === "sum") { sums.n = 1; } /* a sum, not a mean */
return sums;
},
user: function(piece) {
var users = measured.filter(function(k) {
return (chosen.mode === "all" || inRange(k)) && (singles.get(k) || book.rows[list[k][4]]).use.has(piece);
});
return chosen.mode === "one" || !users.length ? chosen.to : users[users.length - 1];
},
whole: function() { return book.together(memoryStretch(book, measured, 0, list.length - 1).rows); },
words: function() {
var n = measured.filter(inRange).length, last = list[chosen.to][1];
if (missing().length) { return last + " (loading; until then the mean of its row)"; }
if (chosen.mode === "one" || n === 1) { return last; }
return n ? list[chosen.from][1] + " to " + last + ": " + n + " passes" : "no measured pass";
}
};
}

var MEMORY_PAGE = 200;
function memoryPages(book) {
var most = book.rows.reduce(function(n, row) { return Math.max(n, row.n); }, 1), each = [], at;
var pages = [{ name: "all, up to " + most + " passes in a row", entries: null }];
if (most === 1) { return pages; }
each = book.data.passes.filter(function(entry) { return !book.rows[entry[4]].outside; });
for (at = 0; at < each.length; at += MEMORY_PAGE) {
var entries = each.slice(at, at + MEMORY_PAGE);
pages.push({ name: entries[0][1] + " to " + entries[entries.length - 1][1], entries: entries });
}
return pages;
}
function memorySingleRows(book, folder, entries, told, done, failed) {
var rows = [];
function next() {
var entry = entries[rows.length];
if (!entry) {
done(rows);
return;
}
loadPass({ id: entry[0], chunk: entry[2], static: entry[3] }, folder, function() {
var sums = book.ofPass(passOf(entry[0], entry[3]));
delete unpackedPasses[entry[0]]; /* a page of passes is too many to keep */
rows.push(Object.assign(sums, { label: entry[1], outside: false, first: entry[0], passes: [entry] }));
told(rows.length);
setTimeout(next, 0);
}, failed);
}
next();
}
function memoryRows(now, acts, page, folder) {
now.page = page;
function put(rows) {
if (now.page !== page) { return; }
acts.say("");
now.book.lanes = rows;
now.mark = null;
now.canvas.setAttribute("data-rows", page.name);
acts.build(true);
}
if (!page.entries) {
put(now.book.rows);
return;
}
memorySingleRows(now.book, folder, page.entries,
function(n) {
if (now.page === page) { acts.say(n + " of " + page.entries.length + " passes are loaded."); }
},
put, function() { acts.say("The passes could not be loaded."); });
}
var MEMORY_NAMES = {
share: "share of its bytes used",
touched_bytes: "bytes touched",
n_uses: "times touched",
work_ns: "time of its operations",
waited_ns: "waiting for the disk",
read_bytes: "bytes read from the disk"
};

function memoryWindow(now, from, span) {
now.look.from = Math.max(0, Math.min(from, now.layout.total - span));
now.look.to = now.look.from + span;
}
function memoryZoom(now, by, middle) {
var look = now.look, total = now.layout.total, length = look.to - look.from;
var span = Math.min(Math.max(length * by, total / 1e7, 1e-9), total),
at = middle === undefined ? (look.from + look.to) / 2 : middle;
memoryWindow(now, at - (at - look.from) / length * span, span);
}
function memoryPan(now, by) {
var span = now.look.to - now.look.from;
memoryWindow(now, now.look.from + by * span, span);
}
function memoryFit(now) {
var block = now.mark.block, size = Math.max(block.size * 1.5, now.layout.total / 1e6);
now.look.from = Math.max(0, block.from - (size - block.size) / 2);
now.look.to = Math.min(now.layout.total, now.look.from + size);
}
function memoryMiddle(block) { return block.from + block.size / 2; }

function memoryFind(now, piece, lane) {
var k, block;
function blockIn(l) {
return now.layout.lanes[l] && now.layout.lanes[l].blocks.filter(function(b) { return b.piece === piece; })[0];
}
if (!piece) { return null; }
if ((block = blockIn(lane))) { return { lane: lane, block: block, piece: piece }; }
for (k = 0; k < now.layout.lanes.length; k += 1) {
if ((block = blockIn(k))) { return { lane: k, block: block, piece: piece }; }
}
return null;
}
function memoryMost(now, tensor, lane) {
var blocks = now.layout.lanes[lane].blocks.filter(
function(block) { return block.piece && block.piece.tensor === tensor && block.sums; });
function amount(block) { return block.sums[now.quantity] || 0; }
return blocks.length ? blocks.sort(function(a, b) { return amount(b) - amount(a); })[0].piece : undefined;
}
function memoryBeside(now, lane, by) {
var blocks = now.layout.lanes[lane].blocks.slice().sort(function(a, b) { return a.from - b.from; });
var at = now.mark ? blocks.indexOf(now.mark.block) : by > 0 ? -1 : blocks.length;
return blocks[Math.max(0, Math.min(at + by, blocks.length - 1))];
}
function memoryNearest(now, lane) {
var middle = now.mark ? memoryMiddle(now.mark.block) : now.look.from, best = null;
now.layout.lanes[lane].blocks.forEach(function(block) {
if (!best || Math.abs(memoryMiddle(block) - middle) < Math.abs(memoryMiddle(best) - middle)) { best = block; }
});
return best;
}
function memoryUnder(now, lane, px) {
var best = null;
now.layout.lanes[lane].blocks.forEach(function(block) {
var a = now.drawn.x(block.from), b = Math.max(now.drawn.x(block.from + block.size), a + 2);
var under = (block.sums || now.view !== "tokens") && px >= a - 1 && px <= b + 1;
if (under && (!best || block.size < best.size)) { best = block; }
});
return best;
}

function memoryTop(now) {
var quantity = now.quantity, top = now.book.data.top[quantity] || 1;
function rise(sums, n) {
if (sums && sums[quantity] / n > top) { top = sums[quantity] / n; }
}
if (now.view === "matrix") {
now.layout.lanes.forEach(function(lane) { lane.blocks.forEach(function(block) { rise(block.sums, block.n); }); });
}
if (now.view === "layers" && now.passes.chosen.mode === "sum") {
now.passes.whole().use.forEach(function(sums) { rise(sums, 1); });
}
return top;
}
function memoryRuler(places, groups) {
var ranges = { bands: [], layers: [] };
function grow(list, key, value, from, to) {
var last = list[list.length - 1];
if (!last || last[key] !== value || from - last.to >= 4096) { list.push(last = { from: from }); }
last[key] = value;
last.to = to;
}
places.sorted.forEach(function(piece) {
var from = places.at[piece.i], to = from + piece.size;
grow(ranges.bands, "name", groups[piece.component] || "other", from, to);
grow(ranges.layers, "layer", piece.layer, from, to);
});
return ranges;
}
function memoryLaid(now, keep) {
var look = now.look;
now.places = memoryPlaces(now.book, now.order);
now.layout = memoryLanes(now.book, now.view, now.places, now.view === "layers" ? now.passes.use() : null);
if (!keep || look.to > now.layout.total) {
look.from = 0;
look.to = now.layout.total;
}
look.quantity = now.quantity;
look.scale = now.quantity === "share" ? memoryShares() : memoryScale(memoryTop(now));
if (now.mark) { now.mark = memoryFind(now, now.mark.piece, now.mark.lane); }
}
function memoryValue(name, value, n) {
if (value === null || value === undefined) { return "not recorded"; }
if (name === "share") { return three(100 * value) + " %"; }
return name.endsWith("_ns") ? took(value / n) : name === "n_uses" ? three(value / n) : bytesOf(value / n);
}

function memoryEnds(now) {
var look = now.look, rows = now.book.rows, of = " of tensors";
if (now.view === "matrix") {
look.left = rows[Math.max(0, Math.floor(look.from))].label;
look.right = rows[Math.min(rows.length, Math.ceil(look.to)) - 1].label;
return;
}
if (now.view === "layers") { of = " of a layer"; }
if (now.view === "tokens" && now.order === "file") { of = " of the file"; }
var from = bytesOf(Math.round(look.from)), to = bytesOf(Math.round(look.to));
look.left = from;
look.right = (from === to ? "+ " + bytesOf(Math.round(look.to - look.from)) : to) + of;
}

function memoryEnd(name, end) { return memoryValue(name, name.endsWith("_ns") ? Math.round(end) : end, 1); }
function memoryLegend(now) {
var list = now.part("legend"), sum = now.passes.chosen.mode === "sum" && now.view === "layers";
list.textContent = "";
var each = sum && now.quantity !== "share" ? ", added up" : " per pass";
var scale = now.look.scale.kind + " (0: no colour), up to";
list.appendChild(make("li", "", MEMORY_NAMES[now.quantity] + each + "; " + scale));
now.look.scale.ends.forEach(function(end, i) {
var item = make("li"), swatch = make("i", "tg-swatch");
swatch.style.background = "var(" + now.look.scale.colours[i] + ")";
item.appendChild(swatch);
item.appendChild(document.createTextNode(memoryEnd(now.quantity, end)));
list.appendChild(item);
});
}
function memoryControls(now) {
var part = now.part, chosen = now.passes.chosen;
part("slide").hidden = now.view !== "layers" || chosen.mode === "all";
part("from").hidden = chosen.mode !== "mean" && chosen.mode !== "sum";
part("order").disabled = now.view !== "tokens";
part("rows-of").hidden = now.view !== "tokens" || now.pages.length < 2;
part("first").max = part("slider").max = now.book.data.passes.length - 1;
part("first").value = chosen.from;
part("slider").value = chosen.to;
part("at").textContent = now.passes.words();
}

function memoryPieceFacts(book, piece) {
return [
["Tensor", piece.name + (piece.expert === null ? "" : ", expert " + piece.expert)],
["Layer", piece.layer === null ? "none" : String(piece.layer)], ["Component", piece.component],
["Type", piece.dtype], ["Offset in " + book.data.files[piece.file][0], exact(piece.offset)],
["Size", bytesOf(piece.size) + " (" + exact(piece.size) + " bytes)"]
];
}
function memoryUsedOf(block, passes) {
var whole = block.bytes || block.size, used = block.sums ? block.sums.used_bytes / passes : 0;
return three(100 * used / whole) + " % (" + exact(Math.round(used)) + " of " + exact(whole) + " bytes)";
}
function memoryFacts(now) {
var mark = now.mark, book = now.book, tokens = now.view === "tokens";
if (!mark) { return [["", "Point at a block, or choose a tensor."]]; }
var lane = now.layout.lanes[mark.lane], sums = mark.block.sums, n = mark.block.n || lane.n,
passes = mark.block.n || lane.passes || lane.n;
var facts = mark.piece ? memoryPieceFacts(book, mark.piece) :
[["Layer", lane.name], ["Tokens", book.rows[mark.block.row].label]];
facts.push([tokens ? lane.name : "Memory", sums ? kindOfMemory(sums.copied ? "copied" : "disk") : "not touched"]);
Object.keys(MEMORY_NAMES).forEach(function(name) {
if (book.data.top[name] === undefined && name !== "share") { return; }
var title = MEMORY_NAMES[name][0].toUpperCase() + MEMORY_NAMES[name].slice(1);
if (name === "share") {
facts.push([title + (passes > 1 ? ", mean of " + passes : ""), memoryUsedOf(mark.block, passes)]);
return;
}
facts.push([title + (n > 1 ? ", mean of " + n : ""), sums ? memoryValue(name, sums[name], n) : "0"]);
});
if (tokens && lane.row.buffers) {
var held = lane.row.buffers;
facts.push([
"Touched in buffers in this row (a byte touched twice counts twice)",
Object.keys(held).map(function(k) { return k + " " + bytesOf((held[k] || 0) / n); }).join(", ") || "none"
]);
}
return facts;
}
function memoryTell(now) {
var list = now.part("about");
list.textContent = "";
memoryFacts(now).forEach(function(pair) {
var box = make("div");
box.appendChild(make("dt", "", pair[0]));
box.appendChild(make("dd", "", pair[1]));
list.appendChild(box);
});
}
function memoryPointer(now, acts) {
var canvas = now.canvas, drag = null;
function where(event) {
var box = canvas.getBoundingClientRect(),
k = Math.floor((event.clientY - box.top - now.drawn.ruler) / now.drawn.step);
return { px: event.clientX - box.left, lane: k >= 0 && k < now.layout.lanes.length ? k : -1 };
}
function point(to) { acts.point(to.lane, memoryUnder(now, to.lane, to.px)); }
canvas.addEventListener("pointerdown", function(event) {
drag = { x: event.clientX, from: now.look.from, moved: false };
canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", function(event) {
var to = where(event);
if (drag && Math.abs(event.clientX - drag.x) > 4) {
drag.moved = true;
memoryWindow(now, drag.from - (event.clientX - drag.x) / now.drawn.per, now.look.to - now.look.from);
acts.soon();
} else if (to.lane >= 0 && to.px >= now.drawn.left) {
point(to);
}
});
canvas.addEventListener("pointerup", function(event) {
var to = where(event), moved = drag && drag.moved;
drag = null;
if (!moved && to.lane >= 0) {
point(to);
acts.choose();
}
});
canvas.addEventListener("wheel", function(event) {
if (!event.ctrlKey && document.activeElement !== canvas) { return; }
event.preventDefault();
acts.zoom(Math.exp(event.deltaY / 300), now.drawn.at(where(event).px));
}, { passive: false });
}

function memoryKeys(now, acts) {
var keys = {
"+": acts.closer,
"=": acts.closer,
"-": acts.farther,
"0": acts.whole,
f: acts.fit,
Enter: acts.choose,
ArrowUp: function() { acts.lane(-1); },
ArrowDown: function() { acts.lane(1); }
};
function aside(by) {
return function(event) {
if (event.shiftKey) {
acts.pan(0.2 * by);
} else {
acts.step(by);
}
};
}
keys.ArrowLeft = aside(-1);
keys.ArrowRight = aside(1);
now.canvas.addEventListener("keydown", function(event) {
if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
event.preventDefault();
keys[event.key](event);
});
}

function memoryBorder(now, acts) {
var border = now.part("split"), pulled = null;
function split(by) {
now.look.high = Math.max(160, Math.min(by, 1200));
border.setAttribute("aria-valuenow", String(Math.round(now.look.high)));
acts.soon();
}
function high() { return now.drawn.step * now.layout.lanes.length; }
border.addEventListener("pointerdown", function(event) {
pulled = { y: event.clientY, high: high() };
border.setPointerCapture(event.pointerId);
});
border.addEventListener("pointermove", function(event) {
if (pulled) { split(pulled.high + event.clientY - pulled.y); }
});
border.addEventListener("pointerup", function() { pulled = null; });
border.addEventListener("keydown", function(event) {
var by = { ArrowUp: -20, ArrowDown: 20 }[event.key];
if (!by) { return; }
event.preventDefault();
split(high() + by);
});
}

function memoryNamed(tensors, text) {
var all = Object.keys(tensors);
function name(number) { return tensors[number][0].toLowerCase(); }
return all.filter(function(number) { return name(number) === text; })[0] ||
all.filter(function(number) { return name(number).indexOf(text) >= 0; })[0];
}

var MEMORY_WORDS = { view: "view", quantity: "colour", order: "order" };
function memoryAsked(part) {
var words = addressWords(), asked = {};
Object.keys(MEMORY_WORDS).forEach(function(name) {
var list = part(name), offered = Array.from(list.options).map(function(option) { return option.value; });
list.dataset.first = Array.from(list.options)
.filter(function(option) { return option.defaultSelected; })
.concat(list.options[0])[0]
.value;
var wanted = words[MEMORY_WORDS[name]];
list.value = asked[name] = offered.indexOf(wanted) >= 0 ? wanted : list.dataset.first;
});
return asked;
}
function memoryKeep(now) {
var words = {};
Object.keys(MEMORY_WORDS).forEach(function(name) {
words[MEMORY_WORDS[name]] = now[name] === now.part(name).dataset.first ? null : now[name];
});
putAddress(words, undefined, true);
}

function memoryForm(now, acts) {
var part = now.part, tensors = now.book.data.tensors;
function number(event) { return parseInt(event.target.value, 10); }
function on(name, kind, act) { part(name).addEventListener(kind, act); }
on("view", "change", function(event) {
now.view = event.target.value;
acts.stop();
if (now.view !== "layers") { now.passes.set({ mode: part("which").value = "all" }); }
memoryKeep(now);
acts.build();
});
on("quantity", "change", function(event) {
now.quantity = event.target.value;
memoryKeep(now);
acts.build(true);
});
on("order", "change", function(event) {
now.order = event.target.value;
memoryKeep(now);
acts.build();
});
on("which", "change", function(event) {
if (now.view !== "layers") { /* only this view has a choice of passes */
now.view = part("view").value = "layers";
now.look.to = Infinity;
}
var to = { mode: event.target.value }, pass = address().pass;
var at = now.book.data.passes.findIndex(function(entry) { return entry[0] === pass; });
if (to.mode === "one" && at >= 0) { to.to = at; }
acts.move(to);
});
now.pages.forEach(function(page, i) { part("rows").appendChild(make("option", "", page.name)).value = String(i); });
on("rows", "change", function(event) { acts.rows(now.pages[number(event)]); });
on("first", "input", function(event) { acts.move({ from: number(event) }); });
on("slider", "input", function(event) { acts.move({ to: number(event) }); });
["play", "closer", "farther", "fit", "whole"].forEach(
function(name) { on(name, "click", function() { acts[name](); }); });
Object.keys(tensors).forEach(function(key) { part("names").appendChild(make("option")).value = tensors[key][0]; });
on("find", "change", function(event) {
var text = event.target.value.toLowerCase(), tensor = memoryNamed(tensors, text);
if (!text) { return; }
if (tensor === undefined) {
acts.say("No tensor has this name.");
} else {
acts.tensor(parseInt(tensor, 10));
}
});
}
function memoryExplorer(root, state, book) {
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
function say(text) { part("status").textContent = text; }
var asked = memoryAsked(part);
var canvas = part("picture"), now = {
book: book,
part: part,
canvas: canvas,
view: asked.view,
quantity: asked.quantity,
order: asked.order,
pages: memoryPages(book),
look: { from: 0, to: 1 },
mark: null
};
var acts = { build: build, say: say };
now.passes = memoryPasses(book, state.data + "ops/", function() { build(true); },
function() { say("The passes could not be loaded."); });
acts.soon = redrawn(function() {
ruler();
draw();
});

function ruler() {
var strips = now.view === "tokens" ? memoryRuler(now.places, state.groups) : { bands: null };
if (strips.bands) {
strips.bands.forEach(function(band) { band.colour = colourOf(canvas, state.colours[band.name]); });
}
Object.assign(now.look, strips);
}
function build(keep) {
memoryLaid(now, keep);
ruler();
memoryLegend(now);
memoryControls(now);
draw();
memoryTell(now);
}
function draw() {
memoryEnds(now);
now.drawn = memoryDraw(canvas, now.layout, now.look, now.mark);
memoryLens(part("lens"), now.mark && now.layout.lanes[now.mark.lane], now.mark, now.look, book);
}

acts.rows = function(page) { memoryRows(now, acts, page, state.data + "ops/"); };
memoryMoves(now, acts);
memoryChoice(now, acts, state);
memoryPlay(now, acts);
[memoryPointer, memoryKeys, memoryBorder, memoryForm].forEach(function(listen) { listen(now, acts); });

selectionNames.tensor =
function(number) { return book.data.tensors[number] ? book.data.tensors[number][0] : "tensor " + number; };
function follow(jump) {
var to = address(), piece = to.offset === undefined ? null : book.lies(to.file || 0, to.offset);
if (to.tensor === undefined && to.offset === undefined) { return; }
if (to.tensor !== undefined && now.mark && now.mark.piece && now.mark.piece.tensor === to.tensor) { return; }
acts.tensor(to.tensor === undefined ? piece && piece.tensor : to.tensor, to.expert, true);
if (jump) { leadTo(root); }
}
whenSelected(follow);
build();
follow(true);
selectionBar();
}

function memoryChoice(now, acts, state) {
var part = now.part, book = now.book, logged = false;
function log() {
var piece = now.mark.piece, ofRow = now.view === "tokens" ? now.layout.lanes[now.mark.lane].row.passes : null,
wanted = address().pass;
var pass = ofRow === null ? book.data.passes[now.passes.user(piece.i)] :
ofRow.filter(function(p) { return p[0] === wanted; })[0] || ofRow[0];
memoryLog(part("log"), part("status"), state.data, pass, piece, book.firstOf(piece.tensor).offset,
book.data.graphs);
part("split").hidden = false;
}
acts.choose = function() {
if (!now.mark || !now.mark.piece) { return; }
var row = now.view === "tokens" ? now.layout.lanes[now.mark.lane].row.passes : [],
chosen = { tensor: now.mark.piece.tensor, expert: now.mark.piece.expert, file: null, offset: null };
logged = true;
if (row.length === 1) { chosen.pass = row[0][0]; }
putAddress(chosen);
log();
};
function wantedLane() {
var wanted = address().pass, lane = -1;
if (now.view === "tokens" && wanted !== undefined) {
lane = now.layout.lanes.findIndex(
function(l) { return l.row && l.row.passes.some(function(p) { return p[0] === wanted; }); });
}
return lane >= 0 ? lane : now.mark ? now.mark.lane : 0;
}
acts.tensor = function(number, expert, still) {
var piece = expert !== undefined && book.expertOf(number, expert) || book.firstOf(number);
if (!piece) {
acts.say(number === null ? "There is no tensor at this place." : "This run has no tensor " + number + ".");
return;
}
if (now.view === "matrix") {
now.view = part("view").value = "tokens";
acts.build();
}
now.mark = memoryFind(now, expert === undefined && memoryMost(now, number, wantedLane()) || piece, wantedLane());
if (!now.mark) {
acts.say(piece.name + " was touched by no pass, so it has no block.");
return;
}
acts.say("");
acts.fit();
memoryTell(now);
logged = true;
putAddress({ tensor: number, expert: expert === undefined ? null : expert, file: null, offset: null }, undefined,
still);
log();
};
acts.move = function(to) {
now.passes.set(to);
acts.build(true);
if (logged && now.mark && now.mark.piece) { log(); }
};
}

function memoryMoves(now, acts) {
var look = now.look, soon = acts.soon;
acts.point = function(lane, block) {
now.mark = block ? { lane: lane, block: block, piece: block.piece } : null;
memoryTell(now);
soon();
};
acts.zoom = function(by, middle) {
memoryZoom(now, by, middle);
soon();
};
acts.pan = function(by) {
memoryPan(now, by);
soon();
};
acts.fit = function() {
if (!now.mark) { return; }
memoryFit(now);
soon();
};
acts.closer = function() { acts.zoom(0.5, now.mark ? memoryMiddle(now.mark.block) : undefined); };
acts.farther = function() { acts.zoom(2); };
acts.whole = function() { acts.build(); };
acts.step = function(by) {
var lane = now.mark ? now.mark.lane : 0, next = memoryBeside(now, lane, by);
if (!next) { return; }
acts.point(lane, next);
if (next.from < look.from || next.from + next.size > look.to) {
acts.pan((memoryMiddle(next) - (look.from + look.to) / 2) / (look.to - look.from));
}
};
acts.lane = function(by) {
var k = Math.max(0, Math.min((now.mark ? now.mark.lane : 0) + by, now.layout.lanes.length - 1));
var best = memoryNearest(now, k);
if (best) { acts.point(k, best); }
};
}

function memoryPlay(now, acts) {
var playing = null, chosen = now.passes.chosen, last = now.book.data.passes.length - 1, button = now.part("play");
acts.stop = function() {
if (playing) { acts.play(); }
};
acts.play = function() {
if (playing) {
clearInterval(playing);
playing = null;
} else {
if (chosen.to >= last) { acts.move({ to: chosen.mode === "one" ? 0 : chosen.from }); }
playing = setInterval(function() {
if (chosen.to >= last) {
acts.play();
} else {
acts.move({ to: chosen.to + 1 });
}
}, 700);
}
button.textContent = playing ? "stop" : "play";
button.setAttribute("aria-pressed", String(Boolean(playing)));
};
}

starts.push(function() {
var state = stateOf("tg-memory"), root = document.getElementById("explorer");
if (!state || !root) { return; }
window.tracegenMemory = function(data) { memoryExplorer(root, state, memoryData(data)); };
script(state.data + "memory.js", function() {},
function() {
root.querySelector("[data-tg=status]").textContent = "The data of this explorer could not be loaded.";
});
});

function slideRate(curve, size, steps) {
var at = firstWhere(curve[0].length, function(i) { return curve[0][i] > size; }), low = curve[1][at - 1], from, to;
if (!at || steps || at === curve[0].length) { return at ? low : 0; }
from = Math.log(curve[0][at - 1]);
to = Math.log(curve[0][at]);
return low + (curve[1][at] - low) * (Math.log(size) - from) / (to - from);
}
function slideRow(state, policy, size) {
var rate = slideRate(state.curves[policy], size, policy === "LRU"), bytes = (1 - rate) * state.token_bytes;
return {
rate: rate,
bytes: bytes,
ns: state.computing_ns === null ? null : state.computing_ns + bytes / state.rate * 1e9
};
}

starts.push(function() {
var state = stateOf("tg-memory-slide"), root = document.getElementById("memory-slide");
if (!state || !root) { return; }
var slider = root.querySelector("input"), output = root.querySelector("output"), rows = root.querySelector("tbody");
slider.min = Math.ceil(slider.max * state.least / state.most);
function size() { return state.most * slider.value / slider.max; }
function show() {
output.textContent =
bytesOf(size()) + ", " + fixed(100 * size() / state.most, 1, 0) + THIN + "% of what was touched";
rows.textContent = "";
Object.keys(state.curves).forEach(function(policy) {
var found = slideRow(state, policy, size()), line = rows.appendChild(make("tr"));
line.appendChild(make("th", "", policy)).scope = "row";
[fixed(100 * found.rate, 1, 1), fixed(found.bytes, 1 << 20, 2), fixed(found.ns, 1e6, 2)].forEach(
function(text) { line.appendChild(make("td", "tg-n", text)); });
});
}
function follow() {
var asked = address().memory;
if (asked !== undefined) { slider.value = Math.min(asked / state.most, 1) * slider.max; }
show();
}
slider.addEventListener("input", show);
slider.addEventListener("change", function() { putAddress({ memory: Math.round(size()) }, undefined, true); });
window.addEventListener("hashchange", follow);
root.hidden = false;
follow();
});
var ZOOM_STEP = 1.25, ZOOM_LEAST = 0.05, ZOOM_MOST = 4, PAN_STEP = 80;

function zoomable(frame, svg, title, height) {
var box = svg.viewBox.baseVal, scale = 1, shown = make("button", "tg-button");
frame.classList.add("tg-zoomable");
function frameHeight() {
if (height !== null) {
frame.style.height = height;
return;
}
frame.style.height = scale > 1 ? box.height + frame.offsetHeight - frame.clientHeight + "px" : "";
}
function zoom(wanted, x, y) {
var next = Math.min(ZOOM_MOST, Math.max(ZOOM_LEAST, wanted)), ratio = next / scale;
var left = (frame.scrollLeft + x) * ratio - x, top = (frame.scrollTop + y) * ratio - y;
scale = next;
svg.style.width = box.width * scale + "px";
svg.style.height = box.height * scale + "px";
frameHeight();
frame.scrollLeft = left;
frame.scrollTop = top;
zoomShown(shown, scale);
}
function fromMiddle(wanted) { zoom(wanted, frame.clientWidth / 2, frame.clientHeight / 2); }
function fit() {
var room = height === null ? Infinity : frame.clientHeight / box.height;
fromMiddle(Math.min(frame.clientWidth / box.width, room, 1));
}
function at(event) {
var edge = frame.getBoundingClientRect();
return [event.clientX - edge.left, event.clientY - edge.top];
}
frame.addEventListener("wheel", function(event) {
if (!event.ctrlKey && document.activeElement !== frame) { return; }
event.preventDefault();
var by = event.deltaY * (event.deltaMode === 1 ? 16 : 1), place = at(event);
zoom(scale * Math.exp(-by * 0.002), place[0], place[1]);
}, { passive: false });
var acts = {
"+": function() { fromMiddle(scale * ZOOM_STEP); },
"−": function() { fromMiddle(scale / ZOOM_STEP); },
fit: fit,
"0": function() { fromMiddle(1); }
};
zoomKeys(frame, acts);
dragged(frame);
pinched(frame, at, function(ratio, x, y) { zoom(scale * ratio, x, y); });
frame.parentNode.insertBefore(zoomBar(title, acts, shown), frame);
zoomShown(shown, scale);
if (height !== null) {
frameHeight();
fit();
}
}
function zoomShown(button, scale) {
button.textContent = Math.round(scale * 100) + " %";
button.setAttribute("aria-label", button.textContent + ", back to 100 % (key: 0)");
}
function zoomBar(title, acts, shown) {
var bar = make("div", "tg-zoom"),
words = { "−": "smaller (key: −)", "+": "larger (key: +)", fit: "as large as the frame" };
bar.setAttribute("role", "group");
bar.setAttribute("aria-label", "Size of the drawing: " + title);
Object.keys(words).forEach(function(sign) {
var button = bar.appendChild(make("button", "tg-button", sign));
button.type = "button";
button.title = words[sign];
button.setAttribute("aria-label", words[sign]);
button.addEventListener("click", acts[sign]);
});
shown.type = "button";
shown.title = "back to 100 % (key: 0)";
shown.addEventListener("click", acts[0]);
bar.appendChild(shown);
return bar;
}
function zoomKeys(frame, acts) {
var moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
var keys = {
"+": acts["+"],
"=": acts["+"],
"-": acts["−"],
"0": acts[0],
Escape: function() { document.activeElement.blur(); }
};
frame.addEventListener("keydown", function(event) {
if (event.ctrlKey || event.metaKey || event.altKey) { return; }
var by = moves[event.key], left = frame.scrollLeft, top = frame.scrollTop;
if (by) {
frame.scrollLeft += by[0] * PAN_STEP;
frame.scrollTop += by[1] * PAN_STEP;
if (left === frame.scrollLeft && top === frame.scrollTop) {
return;
} /* at the end of the drawing the page scrolls */
} else if (keys[event.key]) {
keys[event.key]();
} else {
return;
}
event.preventDefault();
});
}

function dragged(frame) {
var from = null, moved = false;
frame.addEventListener("pointerdown", function(event) {
moved = false;
if (event.pointerType === "touch" || event.button !== 0) { return; }
from = [event.clientX, event.clientY, frame.scrollLeft, frame.scrollTop];
});
frame.addEventListener("pointermove", function(event) {
if (!from) { return; }
var x = event.clientX - from[0], y = event.clientY - from[1];
if (!moved && Math.abs(x) + Math.abs(y) < 5) { return; }
if (!moved) {
moved = true;
frame.setPointerCapture(event.pointerId);
frame.classList.add("tg-held");
}
frame.scrollLeft = from[2] - x;
frame.scrollTop = from[3] - y;
});
["pointerup", "pointercancel"].forEach(function(end) {
frame.addEventListener(end, function() {
from = null;
frame.classList.remove("tg-held");
});
});
frame.addEventListener("dragstart", function(event) { event.preventDefault(); });
frame.addEventListener("click", function(event) {
if (moved) {
event.preventDefault();
event.stopPropagation();
moved = false;
}
}, true);
}

function pinched(frame, at, zoom) {
var apart = 0;
function distance(touches) {
return Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
}
frame.addEventListener("touchstart", function(event) {
if (event.touches.length === 2) {
apart = distance(event.touches);
event.preventDefault();
}
}, { passive: false });
frame.addEventListener("touchmove", function(event) {
if (event.touches.length !== 2 || !apart) { return; }
event.preventDefault();
var now = distance(event.touches), first = at(event.touches[0]), second = at(event.touches[1]);
zoom(now / apart, (first[0] + second[0]) / 2, (first[1] + second[1]) / 2);
apart = now;
}, { passive: false });
}
var graphArrived = {};
window.tracegenGraph = function(facts) { graphArrived[facts.key] = facts; };

function graphData(facts) {
var row = {}, readers = {}, home = {}, drawings = [];
facts.node.forEach(function(node, i) { row[node] = i; });
facts.node.forEach(function(node, i) {
facts.sources[i].forEach(function(source) {
var list = readers[source] = readers[source] || [];
if (list[list.length - 1] !== node) { list.push(node); }
});
});
facts.instances.forEach(function(instance, i) {
instance.nodes.forEach(function(node) { home[node] = i; });
(drawings[instance.block] = drawings[instance.block] || []).push(i);
});
function sources(node) { return row[node] === undefined ? [] : facts.sources[row[node]]; }
function twins(i) {
var nodes = facts.instances[i].nodes, lead = facts.instances[drawings[facts.instances[i].block][0]].nodes,
twin = {};
lead.forEach(function(node, at) {
twin[node] = nodes[at];
sources(node).forEach(function(source, slot) {
if (twin[source] === undefined) { twin[source] = sources(nodes[at])[slot]; }
});
});
lead.forEach(function(node, at) { twin[node] = nodes[at]; });
return twin;
}
var book = {
facts: facts,
key: facts.key,
lead: facts.graphs[0],
drawings: drawings,
boxes: {},
painted: [],
sources: sources,
twins: twins,
has: function(node) { return row[node] !== undefined; },
readers: function(node) { return readers[node] || []; },
home: function(node) { return home[node] !== undefined ? home[node] : home[(readers[node] || [])[0]]; },
of: function(name, node) {
var column = facts[name], i = row[node];
return column.codes ? column.names[column.codes[i]] : column[i];
},
kind: function(node) { return ["op", "noop", "leaf"][facts.kind[row[node]]]; },
drawn: function(element, nodes, drawing) {
var box = { element: element, nodes: nodes, drawing: drawing };
book.painted.push(box);
nodes.forEach(function(node) { (book.boxes[node] = book.boxes[node] || []).push(box); });
},
mean: function(name, nodes) {
var known = nodes.map(function(node) { return book.of(name, node); }).filter(function(v) { return v !== null; });
var sum = known.reduce(function(a, b) { return a + b; }, 0);
return { value: known.length ? sum / known.length : null, n: known.length };
},
block: function(i) {
var instance = facts.instances[i];
return instance.layer === null ? instance.title : "layer " + instance.layer;
},
label: function(node) { return book.of("op", node) + " " + book.of("name", node); }
};
facts.instances.forEach(function(instance, i) {
if (drawings[instance.block][0] === i) { drawnBlocks(book, i); }
});
return book;
}

function drawnBlocks(book, i) {
var block = book.facts.instances[i].block, frame = document.getElementById("g" + book.lead + "-b" + block);
var same = book.drawings[block].map(book.twins);
Array.prototype.forEach.call(frame ? frame.querySelectorAll(".tg-node") : [], function(element) {
var node = parseInt(element.getAttribute("data-node") || element.id.split("-n")[1], 10);
element.setAttribute("data-node", node);
if (!element.matches(".tg-from, .tg-enter")) {
book.drawn(element,
same.map(function(twin) { return twin[node]; }).filter(function(twin) { return twin !== undefined; }), "block");
}
});
}
var MATCHES = 50;

function graphEntries(books) {
var entries = [];
books.forEach(function(book) {
book.facts.node.forEach(function(node) {
var layer = book.of("layer", node), name = book.of("name", node);
var words = [book.of("op", node), name, book.of("component", node), layer === null ? "" : "layer " + layer];
entries
.push({ book: book, node: node, layer: layer, name: name.toLowerCase(), text: words.join(" ").toLowerCase() });
});
});
return entries;
}

function graphMatches(entries, query) {
var words = query.toLowerCase().replace(/\blayer\s+(\d+)/g, "blk.$1").split(/\s+/).filter(Boolean);
if (!words.length) { return []; }
var tests = words.map(function(word) {
var layer = /^blk\.(\d+)\.?$/.exec(word);
return layer ? function(entry) { return entry.layer === parseInt(layer[1], 10); } :
function(entry) { return entry.text.indexOf(word) >= 0; };
});
var ranked = [[], [], []];
entries.forEach(function(entry) {
if (!tests.every(function(test) { return test(entry); })) { return; }
ranked[entry.name === words[0] ? 0 : entry.name.indexOf(words[0]) === 0 ? 1 : 2].push(entry);
});
return ranked[0].concat(ranked[1], ranked[2]);
}

function graphSearch(root, books, groups, go) {
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
var entries = graphEntries(books), field = part("find"), list = part("matches"), matches = [];
function line(entry) {
var item = make("li"), button = make("button"), dot = make("i", "tg-dot"), book = entry.book;
var component = book.of("component", entry.node), leaf = book.kind(entry.node) === "leaf";
dot.setAttribute("data-group", groups[component] || "other");
button.type = "button";
button.appendChild(dot);
button.appendChild(make("span", "tg-code", leaf ? book.of("name", entry.node) : book.label(entry.node)));
var about = [leaf ? "tensor" : "node " + entry.node, entry.layer === null ? "" : "layer " + entry.layer, component];
if (books.length > 1) { about.push("graph " + book.lead); }
button.appendChild(make("small", "", about.filter(Boolean).join(" · ")));
button.addEventListener("click", function() { go(book, entry.node); });
item.appendChild(button);
return item;
}
function show() {
matches = graphMatches(entries, field.value);
var lines = document.createDocumentFragment();
matches.slice(0, MATCHES).forEach(function(entry) { lines.appendChild(line(entry)); });
list.textContent = "";
list.appendChild(lines);
part("found").textContent = !field.value.trim() ? "" :
!matches.length                               ? "Nothing in the graph has all these words." :
(matches.length === 1 ? "1 match" : matches.length + " matches") +
(matches.length > MATCHES ? ", the first " + MATCHES + " are shown" : "");
}
field.addEventListener("input", show);
field.addEventListener("keydown", function(event) {
if (event.key === "Enter" && matches.length) {
event.preventDefault();
go(matches[0].book, matches[0].node);
}
if (event.key === "ArrowDown" && list.firstChild) {
event.preventDefault();
list.firstChild.firstChild.focus();
}
if (event.key === "Escape") {
field.value = "";
show();
}
});
list.addEventListener("keydown", function(event) {
var item = event.target.closest("li");
if (!item || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) { return; }
var next = event.key === "ArrowDown" ? item.nextSibling : item.previousSibling;
event.preventDefault();
if (next) {
next.firstChild.focus();
} else if (event.key === "ArrowUp") {
field.focus();
}
});
show();
}
var GRAPH_MODES = { time: ["time", took], bytes: ["bytes", bytesOf] };

function graphStep(value, ends) {
if (value === null) { return null; }
for (var i = 0; i < ends.length; i += 1) {
if (value <= ends[i]) { return i; }
}
return ends.length - 1;
}

function graphColours(root, books, state) {
var chosen = "component", legend = root.querySelector("[data-tg=legend]");
function paint(book) {
book.painted.forEach(function(box) {
box.element.removeAttribute("data-step");
if (chosen === "component") { return; }
var step = graphStep(book.mean(chosen, box.nodes).value, state.scales[chosen].ends);
box.element.setAttribute("data-step", step === null ? "none" : step);
});
}
function swatch(list, text, look) {
var item = make("li"), mark = make("i", "tg-swatch");
mark.setAttribute("data-step", look);
item.appendChild(mark);
item.appendChild(document.createTextNode(text));
list.appendChild(item);
}
function components() {
var list = make("ul"), present = {};
books.forEach(function(book) {
book.facts.component.names.forEach(function(name) { present[state.groups[name] || "other"] = true; });
});
Object.keys(state.groups).map(function(name) { return state.groups[name]; }).forEach(function(name) {
if (!present[name]) { return; }
var item = make("li"), dot = make("i", "tg-dot");
present[name] = false;
dot.setAttribute("data-group", name);
item.appendChild(dot);
item.appendChild(document.createTextNode(name));
list.appendChild(item);
});
return list;
}
function describe() {
legend.textContent = "";
if (chosen === "component") {
legend.appendChild(components());
return;
}
var scale = state.scales[chosen], write = GRAPH_MODES[chosen][1], list = make("ul", "tg-steps");
scale.ends.forEach(function(end,
i) { swatch(list, (i === scale.ends.length - 1 ? "up to " : "≤ ") + write(end), i); });
swatch(list,
chosen === "time" ? "no time of its own (fused, view, operand), or not recorded" :
"a view, an operand, or not recorded",
"none");
var over = books.map(function(book) {
return (books.length > 1 ? "graph " + book.lead + ": " : "") + book.facts.mean + ", mean over " +
(book.facts.over || "no pass");
});
legend.appendChild(make("p", "tg-note",
(chosen === "time" ? "Wall time " : "Bytes in every kind of memory ") + over.join("; ") +
". The scale is logarithmic: each step ends at " + scale.factor +
" times the one before. If layers share a drawing, it shows their mean."));
legend.appendChild(list);
}
function choose(mode) {
chosen = mode;
root.setAttribute("data-colour", mode);
books.forEach(paint);
describe();
}
Array.prototype.forEach.call(root.querySelectorAll("[name=tg-mode]"), function(input) {
var scale = state.scales[input.value];
input.checked = input.value === chosen;
if (scale && !scale.ends.length) {
input.disabled = true;
input.parentNode.appendChild(make("small", "", " " + (scale.reason || "not recorded")));
}
input.addEventListener("change", function() { choose(input.value); });
});
choose(chosen);
return paint;
}
var FACTS_LISTED = 24;

function nodeFact(list, name, content) {
var row = make("div"), value = make("dd");
row.appendChild(make("dt", "", name));
[].concat(content).forEach(
function(part) { value.appendChild(typeof part === "string" ? document.createTextNode(part) : part); });
row.appendChild(value);
list.appendChild(row);
}
function nodeLink(text, address) {
var link = make("a", "", text);
link.href = address;
return link;
}
function nodeOver(book, text, n) {
return text +
(n === book.facts.n_passes ? "" :
", in the passes where it had one: " + n + " of " + book.facts.n_passes + " passes");
}
function nodeFolded(book, node, name) {
var box = (book.boxes[node] || [])[0], mean = box && book.mean(name, box.nodes);
if (!box || box.nodes.length < 2 || mean.value === null) { return []; }
var count = mean.n === box.nodes.length ? mean.n : mean.n + " of " + box.nodes.length;
return [make("small", "tg-folded", "mean of " + count + " layers: " + GRAPH_MODES[name][1](mean.value))];
}
function nodeShapes(book, node) {
var graphs = book.facts.shape_graphs, shape = book.of("shape", node),
second = graphs.length > 1 ? book.of("other_shape", node) : shape;
return shape === second ? shape : shape + " in graph " + graphs[0] + ", " + second + " in graph " + graphs[1];
}
function nodeWhere(book, node) {
var home = book.home(node);
if (home === undefined) { return "No drawing shows it, as no operation here reads it."; }
var same = book.drawings[book.facts.instances[home].block], first = book.block(same[0]), name = book.block(home);
if (same.length < 2) { return "Drawn in " + name + "."; }
return "Drawn as " + first +
(home === same[0] ? ", which stands for " + same.length + " layers." : ": " + name + " has the same shape.");
}
function nodeTime(book, node, reason, way) {
var value = book.of("time", node), into = book.of("fused_into", node), how = book.of("state", node);
if (reason) { return reason; }
if (book.kind(node) === "noop") { return "none: it only views"; }
if (value !== null) { return nodeOver(book, took(value), book.of("n_timed", node)); }
if (how === "fused") {
return into === null ? "no time of its own: fused" : ["no time of its own: fused into ", way(into)];
}
if (!book.facts.n_passes) { return "no measured pass ran it"; }
return how && how !== "executed" ? "none: " + how : "not recorded";
}
function nodeBytes(book, node, reason) {
var value = book.of("bytes", node);
if (reason) { return reason; }
if (book.kind(node) === "noop") { return "none: it only views"; }
return value === null ? "not recorded" : bytesOf(value) + " (" + exact(value) + " B)";
}
function nodeLinks(book, node, leaf) {
var links = [], pass = book.facts.pass;
if (book.kind(node) === "op" && pass !== null) {
links.push(nodeLink("Its row in the operations of pass " + pass,
"../operations/index.html#pass=" + pass + "&node=" + node));
}
(leaf ? [node] : book.sources(node)).forEach(function(source) {
var tensor = book.has(source) ? book.of("tensor", source) : null,
name = tensor === null ? "" : book.of("name", source);
if (tensor !== null) {
links.push(nodeLink("Where " + name + " lies in memory", "../file/index.html#tensor=" + tensor));
}
});
return links;
}
function nodeHead(name, close) {
var head = make("div", "tg-facts-head"), title = head.appendChild(make("h3", "", name));
var shut = head.appendChild(make("button", "tg-button", "close"));
title.tabIndex = -1;
shut.type = "button";
shut.setAttribute("aria-label", "close the facts");
shut.addEventListener("click", close);
return head;
}

function graphFacts(panel, books, state, go, close) {
function way(book, node) {
var button = make("button", "tg-way", book.has(node) ? book.label(node).replace(/^NONE /, "") : "node " + node);
button.type = "button";
button.disabled = !book.has(node);
button.addEventListener("click", function() { go(book, node); });
return button;
}
function ways(book, nodes) {
var links = nodes.slice(0, FACTS_LISTED).map(function(node) { return way(book, node); });
if (nodes.length > FACTS_LISTED) { links.push("and " + (nodes.length - FACTS_LISTED) + " more"); }
return links.length ? links : "none";
}
function layers(book, node) {
var home = book.home(node), layer = book.of("layer", node);
var same = home === undefined ? [] : book.drawings[book.facts.instances[home].block];
var box = (book.boxes[node] || [])[0];
if (same.length < 2 || !box || box.nodes.length !== same.length) { return layer === null ? "none" : String(layer); }
var select = make("select");
select.setAttribute("aria-label", "Layer: go to the same node of another layer");
same.forEach(function(i, at) {
var option = make("option", "", book.block(i));
option.value = box.nodes[at];
select.appendChild(option);
});
select.value = String(node);
select.addEventListener("change", function() { go(book, parseInt(select.value, 10), "layer"); });
return select;
}
function show(book, node) {
var leaf = book.kind(node) === "leaf", list = make("dl", "tg-facts"), head = nodeHead(book.of("name", node), close);
nodeFact(list, leaf ? "Tensor" : "Operation", leaf ? "leaf " + node : book.of("op", node) + ", node " + node);
nodeFact(list, "Layer", layers(book, node));
nodeFact(list, "Component", book.of("component", node));
nodeFact(list, "Type", book.of("dtype", node));
nodeFact(list, "Shape", nodeShapes(book, node));
if (!leaf) {
nodeFact(list, "Time " + book.facts.mean,
[].concat(nodeTime(book, node, state.scales.time.reason, function(into) { return way(book, into); }),
nodeFolded(book, node, "time")));
nodeFact(list, "Bytes " + book.facts.mean,
[].concat(nodeBytes(book, node, state.scales.bytes.reason), nodeFolded(book, node, "bytes")));
nodeFact(list, "Reads", ways(book, book.sources(node)));
}
nodeFact(list, "Read by", ways(book, book.readers(node)));
panel.textContent = "";
panel.appendChild(head);
var note = make("p", "tg-note",
nodeWhere(book, node) + (leaf || !book.facts.over ? "" : " Means over " + book.facts.over + "."));
note.setAttribute("role", "status");
panel.appendChild(note);
panel.appendChild(list);
var items = make("ul", "tg-onward");
nodeLinks(book, node, leaf).forEach(function(link) { items.appendChild(make("li")).appendChild(link); });
if (items.firstChild) { panel.appendChild(items); }
panel.hidden = false;
panel.scrollTop = 0;
return head.firstChild;
}
return show;
}
var WHOLE_GAP = 72, WHOLE_GUTTER = 120, HEAD_PIXELS = 13;

function svgMake(tag, attributes) {
var element = document.createElementNS("http://www.w3.org/2000/svg", tag);
Object.keys(attributes).forEach(function(name) { element.setAttribute(name, attributes[name]); });
return element;
}

function graphTemplates(book) {
return book.drawings.map(function(list, block) {
var svg = document.querySelector("#g" + book.lead + "-b" + block + " svg.tg-graph"),
inner = svg.querySelector("svg > g");
var shift = inner.transform.baseVal.consolidate().matrix, size = svg.viewBox.baseVal;
var template = {
plain: graphPlain(inner),
width: size.width,
height: size.height,
anchor: size.width / 2,
boxes: {},
enters: {}
};
Array.prototype.forEach.call(inner.querySelectorAll(".tg-op, .tg-noop, .tg-enter"), function(element) {
var rect = element.querySelector("rect"), enters = element.classList.contains("tg-enter");
var x = rect.x.baseVal.value + rect.width.baseVal.value / 2 + shift.e, top = rect.y.baseVal.value + shift.f;
template[enters ? "enters" : "boxes"][element.getAttribute("data-node")] = {
x: x,
top: top,
bottom: top + rect.height.baseVal.value
};
if (enters) { template.anchor = x; }
});
return template;
});
}

function graphPlaces(book, templates, room) {
var all = book.facts.instances, area = 0, column = 0, y = 0, left = WHOLE_GUTTER / 2, places = [], starts = [];
all.forEach(function(instance) {
area += (templates[instance.block].width + WHOLE_GUTTER) * (templates[instance.block].height + WHOLE_GAP);
});
var scale = Math.min(1, Math.sqrt(room.width * room.height / area) * 0.9), head = HEAD_PIXELS / scale;
all.forEach(function(instance, i) {
var size = templates[instance.block].height + WHOLE_GAP + 1.5 * head;
if (y > 0 && y + size > room.height / scale) {
column += 1;
y = 0;
}
(starts[column] = starts[column] || []).push(i);
places.push({ column: column, y: y + 1.5 * head + WHOLE_GAP });
y += size;
});
var height = 0, gutters = [];
starts.forEach(function(members) {
var before = Math.max.apply(null, members.map(function(i) { return templates[all[i].block].anchor; }));
var after = Math.max.apply(null,
members.map(function(i) { return templates[all[i].block].width - templates[all[i].block].anchor; }));
members.forEach(function(i) {
places[i].x = left + before - templates[all[i].block].anchor;
height = Math.max(height, places[i].y + templates[all[i].block].height);
});
left += before + after + WHOLE_GUTTER;
gutters.push(left - WHOLE_GUTTER / 2);
});
return { places: places, gutters: gutters, head: head, width: left, height: height + WHOLE_GAP };
}

function graphLine(from, to, a, b, gutters, head) {
var path = "M" + from.x + "," + from.y, turn = from.y + WHOLE_GAP / 4, over = b.y - 1.5 * head - WHOLE_GAP / 4;
if (a.column === b.column && to.next) { return path + "V" + turn + "H" + to.x + "V" + to.y; }
path += "V" + turn + "H" + gutters[a.column];
if (b.column > a.column + 1) { path += "V" + WHOLE_GAP / 4 + "H" + gutters[b.column - 1]; }
return path + "V" + over + "H" + to.x + "V" + to.y;
}

function wholeGraph(book, room) {
var templates = graphTemplates(book), plan = graphPlaces(book, templates, room), all = book.facts.instances,
home = {};
var svg = svgMake("svg", {
class: "tg-graph tg-all",
viewBox: "0 0 " + plan.width + " " + plan.height,
role: "group",
"aria-label": "The whole graph, " + all.length + " blocks in columns"
});
var lines = svgMake("g", {}), blocks = svgMake("g", {}), tall = 1.5 * plan.head;
all.forEach(function(instance, i) { instance.nodes.forEach(function(node) { home[node] = i; }); });
all.forEach(function(instance, i) {
var place = plan.places[i], template = templates[instance.block], twin = book.twins(i);
var block = svgMake("g", { transform: "translate(" + place.x + "," + place.y + ")", class: "tg-block" });
block.appendChild(svgMake("rect", {
class: "tg-frame",
x: -12,
y: -tall,
width: Math.max(template.width, template.anchor + 5 * plan.head) + 24,
height: template.height + tall + 12,
rx: 12
}));
var head = svgMake("text", {
class: "tg-head",
x: template.anchor + 0.5 * plan.head,
y: -0.4 * plan.head,
style: "font-size:" + plan.head + "px"
});
head.textContent = book.block(i);
block.appendChild(head);
block.appendChild(graphCopy(book, template.plain, twin));
blocks.appendChild(block);
Object.keys(template.enters).forEach(function(lead) {
var source = twin[lead], from = home[source], to = template.enters[lead];
if (from === undefined) { return; }
var out = templates[all[from].block],
box = out.boxes[all[book.drawings[all[from].block][0]].nodes[all[from].nodes.indexOf(source)]];
var start = plan.places[from], last = box.bottom > out.height - 12;
var line = svgMake("path", {
class: "tg-edge tg-between",
d: graphLine({ x: start.x + box.x, y: start.y + (last ? box.bottom : out.height + 12) },
{ x: place.x + to.x, y: place.y + to.top, next: from === i - 1 }, start, place, plan.gutters, plan.head)
});
line.setAttribute("data-from", source);
line.setAttribute("data-into", i);
lines.appendChild(line);
});
});
svg.appendChild(blocks);
svg.appendChild(lines);
return svg;
}

function graphPlain(inner) {
var copy = inner.cloneNode(true);
Array.prototype.forEach.call(copy.querySelectorAll(".tg-node"), function(element) {
var link = element.querySelector("a");
element.removeAttribute("id");
element.removeAttribute("data-step");
element.classList.remove("tg-chosen");
Array.prototype.forEach.call(element.querySelectorAll("g"), function(anchor) { anchor.remove(); });
if (link) { link.removeAttribute("href"); }
});
return copy;
}

function graphCopy(book, plain, twin) {
var copy = plain.cloneNode(true);
Array.prototype.forEach.call(copy.querySelectorAll(".tg-node"), function(element) {
var node = twin[element.getAttribute("data-node")], words = element.querySelectorAll("text");
if (node === undefined || !book.has(node)) {
element.removeAttribute("data-node");
return;
}
element.setAttribute("data-node", node);
element.querySelector("title").textContent = book.label(node) + " (node " + node + ")";
if (element.matches(".tg-leaf, .tg-state") && words[1]) {
words[1].textContent = book.of("dtype", node) + " " + book.of("shape", node);
}
if (element.matches(".tg-enter")) {
words[0].textContent = book.of("name", node).slice(0, 22);
} else if (!element.matches(".tg-from")) {
book.drawn(element, [node], "whole");
}
});
return copy;
}

function wholeOffered(section, book, done) {
var button = section.querySelector("[data-tg=draw]");
section.hidden = false;
button.addEventListener("click", function() {
var frame = make("div", "tg-drawing tg-whole-frame"), svg;
frame.tabIndex = 0;
frame.setAttribute("role", "region");
frame.setAttribute("aria-label", "The whole graph, drawing");
frame.style.height = "min(80vh, 900px)";
section.appendChild(frame);
svg = wholeGraph(book, { width: frame.clientWidth, height: frame.clientHeight });
button.remove();
zoomable(frame, svg, "the whole graph", frame.style.height);
frame.appendChild(svg); /* last, so that the browser lays out the text only once */
done(frame);
frame.focus({ preventScroll: true });
});
}
function graph(state) {
var root = document.querySelector("[data-tg=explore]"), panel = root && root.querySelector("[data-tg=facts]");
var books = [], chosen = null, paint = null, facts = null, implied = false;
if (!root || !panel) { return; }

function mark(book, node) { graphMark(root, book, node); }
function reveal(book, node) { graphReveal(root, book, node); }
function choose(book, node, how) {
chosen = { book: book, node: node };
mark(book, node);
root.setAttribute("data-chosen", node);
var title = facts(book, node);
if (how !== "address") {
implied = implied || !addressWords().pass;
putAddress(graphWords(state, book, node), "g" + book.lead + "-n" + node);
}
if (how === "layer") {
panel.querySelector("select").focus();
return;
}
if (how === "click") { return; }
reveal(book, node);
if (how === "search") { title.focus({ preventScroll: true }); }
}
function go(book, node, how) { choose(book, node, how || "search"); }
function forget() {
panel.hidden = true;
chosen = null;
root.removeAttribute("data-chosen");
mark();
}
function close() {
forget();
putAddress(implied ? { node: null, pass: null } : { node: null }); /* a pass that came with the node goes with it */
implied = false;
root.querySelector("[data-tg=find]").focus({ preventScroll: true });
}
function follow() {
var to = graphAddress(state);
if (!to) {
forget();
return;
}
var lead = state.lead[to.graph], node = to.node;
var book = books.filter(function(candidate) { return candidate.lead === lead; })[0];
if (book && book.has(node)) {
choose(book, node, "address");
graphSoon(function() { reveal(book, node); });
} else if (book) {
mark();
graphSaid(panel, "Graph " + to.graph + " has no node " + node + ".");
}
}
function listen(book, frame, drawing) {
graphClicked(frame, function(node) {
var same = drawing === "block" && chosen;
choose(book, same && chosen.book === book ? graphMeant(book, node, chosen.node) : node, "click");
});
}
function begin(known) {
books = known;
facts = graphFacts(panel, books, state, go, close);
paint = graphColours(root, books, state);
graphSearch(root, books, state.groups, go);
root.querySelector("[data-tg=tools]").hidden = false;
books.forEach(function(book) {
graphListened(root, book, listen, function(drawn) {
paint(drawn);
if (chosen) { mark(chosen.book, chosen.node); }
});
});
whenSelected(follow);
window.addEventListener("popstate", follow);
follow();
}
root.querySelectorAll(".tg-drawing").forEach(graphFramed);
graphLoaded(state.topologies, begin, function() { graphSaid(panel, "The facts of the nodes could not be loaded."); });
}

function graphMark(root, book, node) {
root.querySelectorAll(".tg-chosen").forEach(function(old) { old.classList.remove("tg-chosen"); });
(book ? book.boxes[node] || [] : []).forEach(function(box) { box.element.classList.add("tg-chosen"); });
}
function graphSoon(show) {
setTimeout(show, 0);
if (document.readyState !== "complete") {
window.addEventListener("load", function() { setTimeout(show, 0); });
}
}
function graphClicked(frame, picked) {
frame.addEventListener("click", function(event) {
var element = event.target.closest(".tg-node[data-node]");
if (!element || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) { return; }
event.preventDefault();
picked(parseInt(element.getAttribute("data-node"), 10));
});
}
function graphOf(state, pass) {
var before = state.passes.filter(function(run) { return run[0] <= pass; });
return before.length ? before[before.length - 1][1] : undefined;
}
function graphAddress(state) {
var place = /^g(\d+)-n(\d+)$/.exec(addressPlace()), words = addressWords();
if (place) { return { graph: place[1], node: parseInt(place[2], 10) }; }
if (!/^\d+$/.test(words.node)) { return null; }
var ran = graphOf(state, parseInt(words.pass, 10));
return ran === undefined ? null : { graph: ran, node: parseInt(words.node, 10) };
}
function graphWords(state, book, node) {
var pass = parseInt(addressWords().pass, 10), fits = state.lead[graphOf(state, pass)] === book.lead;
return { node: node, pass: fits ? pass : book.facts.pass };
}

function graphListened(root, book, listen, drawn) {
book.drawings.forEach(function(list, block) {
var frame = document.querySelector("#g" + book.lead + "-b" + block + " .tg-drawing");
if (!frame) { return; }
frame.querySelectorAll("a[href]").forEach(function(link) {
link.setAttribute("href", "#g" + book.lead + "-n" + link.closest(".tg-node").getAttribute("data-node"));
});
listen(book, frame, "block");
});
wholeOffered(root.querySelector("[data-graph=" + book.key + "]"), book, function(frame) {
listen(book, frame, "whole");
drawn(book);
});
}
function graphSaid(panel, text) {
panel.textContent = "";
panel.appendChild(make("p", "tg-reason", text));
panel.hidden = false;
}
function graphReveal(root, book, node) {
var frame = root.querySelector("[data-graph=" + book.key + "] .tg-drawing"),
edge = frame && frame.getBoundingClientRect();
var drawing = edge && edge.top < innerHeight / 2 && edge.bottom > innerHeight / 2 ? "whole" : "block";
var boxes = (book.boxes[node] || []).filter(function(box) { return box.drawing === drawing; });
if (!boxes[0]) { return; }
var folded = boxes[0].element.closest("details");
if (folded) { folded.open = true; }
boxes[0].element.scrollIntoView({ block: "center", inline: "center" });
}
function graphMeant(book, node, chosen) {
var home = book.home(chosen), target = book.home(node), all = book.facts.instances;
var same = home !== undefined && target !== undefined && all[home].block === all[target].block;
var twin = same ? book.twins(home)[node] : undefined;
return twin === undefined ? node : twin;
}
function graphFramed(frame) {
var svg = frame.querySelector("svg.tg-graph"), first = svg && svg.querySelector(".tg-node");
if (!svg) { return; }
zoomable(frame, svg, frame.getAttribute("aria-label"), null);
if (!first || frame.scrollWidth <= frame.clientWidth) { return; }
var box = first.getBoundingClientRect(), edge = frame.getBoundingClientRect();
frame.scrollLeft += box.left + box.width / 2 - edge.left - edge.width / 2;
}

function graphLoaded(topologies, done, failed) {
var left = topologies.length;
function arrived() {
left -= 1;
if (left > 0) { return; }
done(topologies.map(function(topology) {
var facts = topology.facts || graphArrived[topology.key];
facts.pass = topology.pass;
return graphData(facts);
}));
}
topologies.forEach(function(topology) {
if (topology.facts) {
arrived();
} else {
script(topology.path, arrived, failed);
}
});
}

starts.push(function() {
var state = stateOf("tg-graph");
if (state) { graph(state); }
});
var spansOf = {}, nodesOf = {};
window.tracegenSpans = function(list) { list.forEach(function(pass) { spansOf[pass.id] = pass.threads; }); };

function lanesOf(id) {
return spansOf[id].map(function(lane) {
var at = 0, thread = { thread: lane.thread, device: lane.device, name: lane.device || "thread " + lane.thread };
thread.begin = unpack(lane.begin).map(function(gap) { return (at += gap); });
["node", "work", "barrier", "wait"].forEach(function(name) { thread[name] = unpack(lane[name]); });
thread.disk = lane.disk ? unpack(lane.disk) : null;
return thread;
});
}
window.tracegenNodes = function(data) {
var about = {};
data.node.forEach(function(node,
i) { about[node] = { op: data.op[i], name: data.name[i], layer: data.layer[i], component: data.component[i] }; });
nodesOf[data.graph] = about;
};

function timelineView(about) {
var UNKNOWN = { op: "not recorded", name: "not recorded", layer: null, component: "other" };
return {
lanes: [],
others: [],
from: 0,
to: 1,
whole: 1,
variables: [],
chosen: null,
pointed: null,
area: null,
about: function(node) { return (about() || {})[node] || UNKNOWN; }
};
}
function othersOf(pass) {
var others = [], last = null;
(pass.others || []).forEach(function(split) {
if (!last || last.name !== split[0]) { others.push(last = { name: split[0], splits: [] }); }
last.splits.push(split);
});
return others;
}
function timelineWhole(view) {
view.whole =
view.lanes.reduce(function(most, lane) { return Math.max(most, spanEnd(lane, lane.begin.length - 1)); }, 1);
view.others.forEach(function(other) {
other.splits.forEach(function(split) { view.whole = Math.max(view.whole, split[1] + split[2]); });
});
view.from = 0;
view.to = view.whole;
view.chosen = view.pointed = view.area = null;
}
function timelineLook(view, from, to) {
var length = Math.min(Math.max(to - from, 20), view.whole);
view.from = Math.min(Math.max(from, 0), view.whole - length);
view.to = view.from + length;
}
function timelineZoom(view, by, time) {
var at = time === undefined ? timelineCentre(view) : time;
timelineLook(view, at - (at - view.from) * by, at + (view.to - at) * by);
}
function timelineCentre(view) {
var begin = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : -1;
return begin < view.from || begin > view.to ? (view.from + view.to) / 2 : begin;
}
function timelineFit(view) {
var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i],
length = Math.max(spanEnd(lane, view.chosen.i) - begin, 10);
timelineLook(view, begin - length / 4, begin + length * 1.25);
}
function timelineReveal(view) {
var lane = view.lanes[view.chosen.lane], begin = lane.begin[view.chosen.i], end = spanEnd(lane, view.chosen.i);
var length = view.to - view.from;
if (begin < view.from || end > view.to) { timelineLook(view, begin - length / 3, begin + length * 2 / 3); }
}

function timelineFind(view, node, thread) {
var place = null;
view.lanes.forEach(function(lane, number) {
var i = lane.node.indexOf(node);
if (i >= 0 && (!place || lane.thread === thread)) { place = { lane: number, i: i }; }
});
return place;
}
function timelineAlong(view, by) {
var from =
view.chosen || { lane: 0, i: by > 0 ? spanAt(view.lanes[0], view.from) : spanAt(view.lanes[0], view.to) + 1 };
return timelinePlace(view, from.lane, from.i + by);
}
function timelineAcross(view, by) {
var number = view.chosen ? view.chosen.lane + by : 0, lane = view.lanes[number];
if (!lane) { return null; }
var time = view.chosen ? view.lanes[view.chosen.lane].begin[view.chosen.i] : view.from;
return timelinePlace(view, number, Math.max(spanAt(lane, time), 0));
}
function timelinePlace(view, lane, i) {
return i >= 0 && i < view.lanes[lane].begin.length ? { lane: lane, i: i } : null;
}

function timelineSums(view, from, to) {
var sums = new Float64Array(view.labels.length), ops = 0;
function add(kind, begin, length) {
sums[kind] += Math.max(0, Math.min(begin + length, to) - Math.max(begin, from));
return begin + length;
}
view.lanes.forEach(function(lane, number) {
for (var i = Math.max(spanAt(lane, from), 0); i < lane.begin.length && lane.begin[i] < to; i += 1) {
var disk = lane.disk ? lane.disk[i] : 0, at = lane.begin[i];
if (number === 0 && at >= from) { ops += 1; }
if (disk) { at = add(view.disk, at, disk); }
at = add(lane.kind[i], at, lane.work[i] - disk);
add(view.after, add(view.inside, at, lane.barrier[i]), lane.wait[i]);
}
});
return { sums: sums, ops: ops, all: (to - from) * view.lanes.length };
}

function timelineKinds(view, state, byOp) {
var hues = Object.keys(state.colours), names = byOp ? state.kinds.concat(["other kinds"]) : hues, used = {};
var variables = names.map(function(name, i) {
return state.colours[!byOp ? name : i < names.length - 1 ? hues[i] : "other"];
});
view.inside = names.length;
view.after = names.length + 1;
view.lanes.forEach(function(lane) {
lane.kind = lane.node.map(function(node) {
var about = view.about(node), kind = names.indexOf(byOp ? about.op : state.groups[about.component] || "other");
kind = kind < 0 ? names.length - 1 : kind;
used[kind] = true;
return kind;
});
});
var disk = view.lanes.some(function(lane) { return lane.disk; });
view.disk = names.length + 2;
view.variables = variables.concat(["--tg-inside", "--tg-after"], disk ? ["--tg-disk"] : []);
view.labels = names.concat(["waiting inside", timelineAfter(view)], disk ? ["waiting for the disk"] : []);
view.used = used;
}
function timelineAfter(view) {
return view.lanes.length === 1 ? "between operations" : "barrier wait"; // one thread waits for no other
}
function timelineLegend(box, sentence, view) {
var from = view.area ? view.area[0] : view.from, to = view.area ? view.area[1] : view.to;
var part = timelineSums(view, from, to);
box.textContent = "";
view.labels.forEach(function(label, kind) {
if (!view.used[kind] && kind < view.inside) { return; }
var item = make("li", "", label), dot = make("i", "tg-dot");
dot.style.background = "var(" + view.variables[kind] + ")";
item.insertBefore(dot, item.firstChild);
item.appendChild(make("small", "",
" " + took(Math.round(part.sums[kind])) + ", " + (100 * part.sums[kind] / part.all).toFixed(1) + "\u202f%"));
box.appendChild(item);
});
sentence.textContent = "Times are sums over " + lanesNamed(view.lanes) + " of " +
(view.area ? "the marked area" : "what is visible") + ": " + took(from) + " to " + took(to) +
" after the pass began, " + exact(part.ops) + (part.ops === 1 ? " operation" : " operations") + "; shares are of " +
took(Math.round(part.all)) + ".";
}

function lanesNamed(lanes) {
var devices = lanes.filter(function(lane) { return lane.device; }), n = lanes.length - devices.length;
return [n + (n === 1 ? " thread" : " threads")]
.concat(devices.map(function(lane) { return lane.name; }))
.filter(function(_, i) { return n || i; })
.join(" and ");
}

function timelineFacts(view, at, link) {
var lane = view.lanes[at.lane], node = lane.node[at.i], about = view.about(node);
var disk = lane.disk ? [["of it waiting for the disk", took(lane.disk[at.i])]] : [];
var waits = [["waiting inside", took(lane.barrier[at.i])], [timelineAfter(view), took(lane.wait[at.i])]];
return [
["result", link], ["operation", about.op], ["node", String(node)],
["layer", about.layer === null ? "none" : String(about.layer)], ["component", about.component],
lane.device ? ["device", lane.device] : ["thread", String(lane.thread)], ["begin", took(lane.begin[at.i])],
["work", took(lane.work[at.i])]
].concat(disk, waits);
}
function timelineTell(box, view, hash) {
var at = view.pointed || view.chosen, link;
box.textContent = "";
if (at) {
link = make("a", "tg-code", view.about(view.lanes[at.lane].node[at.i]).name);
link.href = hash(at);
}
(at ? timelineFacts(view, at, link) : [
["operation", "none is chosen. Point at an operation, or press comma or full stop."]
]).forEach(function(pair) {
var row = make("div"), value = make("dd");
row.appendChild(make("dt", "", pair[0]));
value.appendChild(typeof pair[1] === "string" ? document.createTextNode(pair[1]) : pair[1]);
row.appendChild(value);
box.appendChild(row);
});
}
function timelineMissed(node, id) {
return "Node " + node + " has no time of its own in pass " + id +
": it was fused into another node, had nothing to compute, or was not recorded.";
}

function columnKinds(lane, from, to, n, nKinds, view) {
var spent = new Float64Array(n * nKinds), scale = n / (to - from);
function add(kind, begin, end) {
var a = Math.max((begin - from) * scale, 0), b = Math.min((end - from) * scale, n), c, stop = Math.ceil(b);
for (c = Math.floor(a); c < stop; c += 1) { spent[c * nKinds + kind] += Math.min(b, c + 1) - Math.max(a, c); }
}
var i = spanAt(lane, from), at, disk;
for (i = Math.max(i, 0); i < lane.begin.length && lane.begin[i] < to; i += 1) {
at = lane.begin[i];
disk = lane.disk ? lane.disk[i] : 0;
if (disk) { add(view.disk, at, at += disk); }
add(lane.kind[i], at, at += lane.work[i] - disk);
add(view.inside, at, at += lane.barrier[i]);
add(view.after, at, at += lane.wait[i]);
}
var best = new Int16Array(n), c, k, most, left;
for (c = 0; c < n; c += 1) {
best[c] = -1;
left = 1;
most = 0;
for (k = 0; k < nKinds; k += 1) {
left -= spent[c * nKinds + k];
if (spent[c * nKinds + k] > most) {
most = spent[c * nKinds + k];
best[c] = k;
}
}
if (left > most) { best[c] = -1; }
}
return best;
}
function spanAt(lane, time) {
return firstWhere(lane.begin.length, function(i) { return lane.begin[i] > time; }) - 1;
}
function shortened(pen, text, room, keepEnd) {
if (pen.measureText(text).width <= room) { return text; }
while (text && pen.measureText(text + "…").width > room) { text = keepEnd ? text.slice(1) : text.slice(0, -1); }
return keepEnd ? "…" + text : text + "…";
}
function spanEnd(lane, i) { return lane.begin[i] + lane.work[i] + lane.barrier[i] + lane.wait[i]; }

function lanesPlaces(canvas, view) {
var at = { axis: 30, ruler: 20, left: 72, right: 12 };
function count() { return view.lanes.length + view.others.length; }
function pitch() { return count() <= 12 ? 42 : count() <= 40 ? 22 : 12; }
at.pitch = pitch;
at.named = function() { return pitch() > 40; };
at.bottom = function() { return count() * pitch(); };
at.plot = function() { return Math.max(canvas.parentNode.clientWidth - at.left - at.right, 10); };
at.top = function(number) { return number * pitch() + (at.named() ? 16 : 1); };
at.thick = function() { return pitch() - (at.named() ? 18 : 2); };
at.x = function(time) { return at.left + (time - view.from) / (view.to - view.from) * at.plot(); };
at.time = function(px) { return view.from + (px - at.left) / at.plot() * (view.to - view.from); };
at.perPixel = function() { return (view.to - view.from) / at.plot(); };
return at;
}

function lanesTicks(on, at, view) {
var step = Math.pow(10, Math.floor(Math.log10((view.to - view.from) / at.plot() * 110)));
while (step * at.plot() / (view.to - view.from) < 80) { step *= step.toExponential(0).charAt(0) === "2" ? 2.5 : 2; }
step = Math.max(step, 1);
var unit = view.to >= 1e6 ? ["ms", 1e6] : ["µs", 1e3],
digits = Math.max(0, Math.ceil(-Math.log10(step / unit[1]) - 1e-9));
var bottom = at.bottom() + at.ruler, time, x;
on.pen.textAlign = "center";
for (time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
x = at.x(time);
on.pen.fillStyle = view.colours.hairline;
on.pen.fillRect(Math.round(x), 0, 1, bottom + 4);
on.pen.fillStyle = view.colours.muted;
on.pen.fillText(group((time / unit[1]).toFixed(digits)), Math.min(Math.max(x, at.left), on.width - 24),
bottom + 14);
}
on.pen.textAlign = "left";
on.pen.fillText(unit[0], 0, bottom + 14);
}

function lanesThread(on, at, view, number) {
var lane = view.lanes[number], n = Math.round(at.plot() * on.ratio), begun = 0, c, y = at.top(number);
var kinds = columnKinds(lane, view.from, view.to, n, view.palette.length, view);
on.pen.fillStyle = view.colours.muted;
on.pen.textAlign = "left";
if (at.pitch() > 16 || number % 4 === 0) {
on.pen.fillText(shortened(on.pen, lane.name, at.left - 4, true), 0, y + at.thick() / 2);
}
for (c = 1; c <= n; c += 1) {
if (c < n && kinds[c] === kinds[begun]) { continue; }
if (kinds[begun] >= 0) {
on.pen.fillStyle = view.palette[kinds[begun]];
on.pen.fillRect(at.left + begun / on.ratio, y, (c - begun) / on.ratio, at.thick());
}
begun = c;
}
lanesEdges(on, at, view, lane, y);
}
function lanesOther(on, at, view, place) {
var other = view.others[place], y = at.top(view.lanes.length + place), end = on.width - at.right;
on.pen.fillStyle = view.colours.muted;
on.pen.textAlign = "left";
on.pen.fillText(shortened(on.pen, other.name, at.left - 4, true), 0, y + at.thick() / 2);
other.splits.forEach(function(split) {
var left = Math.max(at.x(split[1]), at.left), right = Math.min(at.x(split[1] + split[2]), end);
if (right < at.left || left > end) { return; }
on.pen.fillStyle = split[3] ? view.colours.band2 : view.colours.elsewhere;
on.pen.fillRect(left, y, Math.max(right - left, 1), at.thick());
});
}
function lanesEdges(on, at, view, lane, y) {
var i = Math.max(spanAt(lane, view.from), 0), left, right, end = on.width - at.right;
for (; i < lane.begin.length && lane.begin[i] < view.to; i += 1) {
left = at.x(lane.begin[i]);
right = at.x(spanEnd(lane, i));
if (right - left < 4) { continue; }
on.pen.fillStyle = view.colours.ground;
if (left >= at.left) { on.pen.fillRect(Math.round(left), y, 1, at.thick()); }
left = Math.max(left, at.left);
right = Math.min(right, end);
if (at.named() && right - left > 40) { lanesWord(on, view, view.about(lane.node[i]).name, left, right, y); }
}
}
function layerRuns(lane, about) {
var runs = [], last = null;
lane.node.forEach(function(node, i) {
var layer = about(node).layer;
if (layer === null) {
last = null;
return;
}
if (!last || last[0] !== layer) { runs.push(last = [layer, lane.begin[i], 0]); }
last[2] = spanEnd(lane, i);
});
return runs;
}
function lanesRuler(on, at, view) {
var y = at.bottom() + 3, high = at.ruler - 5;
on.pen.textAlign = "left";
on.pen.fillStyle = view.colours.muted;
on.pen.fillText("layer", 0, y + high / 2);
layerRuns(view.lanes[0], view.about).forEach(function(run) {
var left = Math.max(at.x(run[1]), at.left), right = Math.min(at.x(run[2]), on.width - at.right);
if (right <= left) { return; }
on.pen.fillStyle = run[0] % 2 ? view.colours.band2 : view.colours.band;
on.pen.fillRect(left, y, Math.max(right - left, 1), high);
if (right - left < on.pen.measureText(String(run[0])).width + 4) { return; }
on.pen.fillStyle = view.colours.ink;
on.pen.fillText(String(run[0]), left + 2, y + high / 2 + 0.5);
});
}
function lanesArea(on, at, view) {
if (!view.area) { return; }
var left = Math.max(at.x(view.area[0]), at.left), right = Math.min(at.x(view.area[1]), on.width - at.right);
on.pen.strokeStyle = view.colours.ink;
on.pen.lineWidth = 1;
on.pen.setLineDash([4, 3]);
on.pen.strokeRect(left, 0.5, Math.max(right - left, 1), at.bottom() - 1);
on.pen.setLineDash([]);
}
function lanesWord(on, view, word, left, right, y) {
on.pen.save();
on.pen.beginPath();
on.pen.rect(left, y - 15, right - left - 3, 15);
on.pen.clip();
var text = shortened(on.pen, word.slice(0, 80), right - left - 4);
on.pen.fillStyle = view.colours.ground;
on.pen.fillRect(left, y - 15, on.pen.measureText(text).width + 4, 15);
on.pen.fillStyle = view.colours.muted;
on.pen.fillText(text, left + 1, y - 7);
on.pen.restore();
}
function lanesFrame(on, at, lane, place, colour, width) {
var left = at.x(lane.begin[place.i]), right = Math.max(at.x(spanEnd(lane, place.i)), left + 3),
end = on.width - at.right;
if (right < at.left || left > end) { return; }
left = Math.max(left, at.left - 1);
on.pen.strokeStyle = colour;
on.pen.lineWidth = width;
on.pen.strokeRect(left, at.top(place.lane) - 1, Math.min(right, end) - left, at.thick() + 2);
}

function lanesUnder(at, view, px, y) {
var number = Math.floor(y / at.pitch()), lane = view.lanes[number];
if (!lane || px < at.left - 2) { return null; }
var time = at.time(px), i = spanAt(lane, time), slack = 3 * at.perPixel();
if (i >= 0 && time <= spanEnd(lane, i)) { return { lane: number, i: i }; }
if (i + 1 < lane.begin.length && lane.begin[i + 1] - time <= slack) { return { lane: number, i: i + 1 }; }
return i >= 0 && time - spanEnd(lane, i) <= slack ? { lane: number, i: i } : null;
}

function lanesPicture(canvas, view) {
var at = lanesPlaces(canvas, view);
return {
draw: function() {
view.palette = view.variables.map(function(name) { return colourOf(canvas, name); });
view.colours = coloursOf(canvas, ["ink", "ground", "muted", "hairline", "band", "band2", "elsewhere"]);
var on = sharp(canvas, at.bottom() + at.ruler + at.axis), pointed = view.pointed, chosen = view.chosen;
canvas.setAttribute("data-from", String(Math.round(view.from)));
canvas.setAttribute("data-to", String(Math.round(view.to)));
lanesTicks(on, at, view);
view.lanes.forEach(function(_, number) { lanesThread(on, at, view, number); });
view.others.forEach(function(_, number) { lanesOther(on, at, view, number); });
lanesRuler(on, at, view);
lanesArea(on, at, view);
if (pointed) { lanesFrame(on, at, view.lanes[pointed.lane], pointed, view.colours.muted, 1.5); }
if (chosen) { lanesFrame(on, at, view.lanes[chosen.lane], chosen, view.colours.ink, 2.5); }
},
time: at.time,
perPixel: at.perPixel,
at: function(px, y) { return lanesUnder(at, view, px, y); }
};
}
var STRIP_HIGH = 96, STRIP_WORDS = 16;

function stripBars(n, width) {
var bars = [], first, last;
function column(i) { return Math.floor((i + 1) * width / n); }
for (first = 0; first < n; first = last + 1) {
last = first;
while (last + 1 < n && column(last + 1) === column(first)) { last += 1; }
bars.push([first, last]);
}
return bars;
}
function stripWorst(list, first, last) {
return list.slice(first, last + 1)
.reduce(function(worst, pass) { return (pass.ns || 0) > (worst.ns || 0) ? pass : worst; });
}
function stripBar(on, x, wide, worst, lit, highest, colours) {
var high = Math.max(Math.min((worst.ns || 0) / highest, 1) * (STRIP_HIGH - 8), 2);
var broad = wide > 4 ? wide - 1 : wide, y = STRIP_HIGH;
on.pen.globalAlpha = worst.chunk === null && !lit ? 0.4 : 1;
on.pen.fillStyle = colours.band2;
on.pen.fillRect(x, STRIP_HIGH - high, broad, high);
(worst.parts || []).forEach(function(share, kind) {
if (!share) { return; }
on.pen.fillStyle = colours.parts[kind];
on.pen.fillRect(x, y -= high * share / 1000, broad, high * share / 1000);
});
on.pen.globalAlpha = 1;
if (worst.ns > highest) {
on.pen.fillStyle = colours.ground;
on.pen.fillRect(x, 16, wide, 3);
}
if (lit) {
on.pen.fillStyle = colours.ink;
on.pen.fillRect(x, STRIP_HIGH + 1, Math.max(wide, 3), 3);
}
}
function stripKinds(on, list, colours) {
var first = 0, i, width = on.width / list.length;
on.pen.fillStyle = colours.muted;
on.pen.textAlign = "left";
for (i = 1; i <= list.length; i += 1) {
if (i < list.length && list[i].kind === list[first].kind) { continue; }
if (on.pen.measureText(list[first].kind).width <= (i - first) * width - 4) {
on.pen.fillText(list[first].kind, first * width, STRIP_HIGH + STRIP_WORDS / 2 + 4);
}
first = i;
}
}

function stripParts(pass, names) {
var shares = (pass.parts || []).map(function(share, kind) { return [share, names[kind]]; });
return shares.filter(function(pair) { return pair[0] >= 10; })
.sort(function(a, b) { return b[0] - a[0]; })
.slice(0, 5)
.map(function(pair) { return pair[1] + " " + Math.round(pair[0] / 10) + "\u202f%"; })
.join(", ");
}
function stripPicture(canvas, state, about, choose) {
var chosen = null, pointed = null, list = state.passes;
var variables = state.parts.map(function(name) { return state.colours[name]; });
var common = list.filter(function(pass) { return pass.kind === "generate"; });
var highest =
(common.length ? common : list).reduce(function(most, pass) { return Math.max(most, pass.ns || 0); }, 1);
var cut = list.some(function(pass) { return pass.ns > highest; });

var soon = redrawn(function() {
var on = sharp(canvas, STRIP_HIGH + STRIP_WORDS + 2), width = on.width / list.length;
var colours = coloursOf(canvas, ["ink", "band2", "ground", "muted"]);
colours.parts = variables.map(function(name) { return colourOf(canvas, name); });
stripBars(list.length, on.width).forEach(function(bar) {
var lit = list.slice(bar[0], bar[1] + 1).some(function(pass) { return pass.id === chosen; });
var wide = Math.max((bar[1] - bar[0] + 1) * width, 1);
stripBar(on, bar[0] * width, wide, stripWorst(list, bar[0], bar[1]), lit, highest, colours);
});
stripKinds(on, list, colours);
});
function below(event) {
var box = canvas.getBoundingClientRect();
var i = Math.floor((event.clientX - box.left) / box.width * list.length);
return list[Math.min(Math.max(i, 0), list.length - 1)];
}
function tell() {
var pass = pointed || list.filter(function(candidate) { return candidate.id === chosen; })[0];
if (!pass) { return; }
about.textContent = "Pass " + pass.id + ", " + pass.label + " (" + pass.kind +
(pass.outside ? ", left out of every statistic" : "") + "): " + took(pass.ns) +
(stripParts(pass, state.parts) ? " (" + stripParts(pass, state.parts) + ")" : "") +
(pass.chunk === null ? "; this page does not hold its threads’ times" : "") +
". The strip has one bar per pass, " + list.length + (list.length === 1 ? " pass" : " passes") +
" in all; full height is " + took(highest) + (cut ? "; longer bars are cut, with a gap across" : "") + ".";
}
canvas.addEventListener("pointermove", function(event) {
pointed = below(event);
tell();
});
canvas.addEventListener("pointerleave", function() {
pointed = null;
tell();
});
canvas.addEventListener("click", function(event) {
var pass = below(event);
if (pass.chunk !== null) { choose(pass.id); }
});
return function(id) {
chosen = id;
pointed = null;
tell();
soon();
};
}
function moved(canvas, on, picture) {
var NEAR = 5, down = {}, travelled = 0, apart = 0, marking = null;
function spot(event) {
var box = canvas.getBoundingClientRect();
return { x: event.clientX - box.left, y: event.clientY - box.top };
}
function fingers() {
return Object.keys(down).map(function(id) { return down[id]; });
}

canvas.addEventListener("wheel", function(event) {
if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
event.preventDefault();
on.look(on.view.from + event.deltaX * picture.perPixel(), on.view.to + event.deltaX * picture.perPixel());
} else if (event.deltaY < 0 || !on.whole()) { /* fully zoomed out, the wheel scrolls the page */
event.preventDefault();
on.zoom(Math.pow(1.0015, Math.max(-400, Math.min(400, event.deltaY))), picture.time(spot(event).x));
}
}, { passive: false });
canvas.addEventListener("pointerdown", function(event) {
if (event.button > 0) { return; }
down[event.pointerId] = spot(event);
travelled = fingers().length > 1 ? NEAR + 1 : 0;
apart = 0;
marking = event.shiftKey ? picture.time(spot(event).x) : null;
canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", function(event) {
var now = spot(event), before = down[event.pointerId], others;
if (!before) {
on.point(picture.at(now.x, now.y));
return;
}
travelled += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
down[event.pointerId] = now;
others = fingers();
if (others.length === 2) {
var wide = Math.max(Math.abs(others[0].x - others[1].x), 10);
if (apart) { on.zoom(apart / wide, picture.time((others[0].x + others[1].x) / 2)); }
apart = wide;
} else if (marking !== null) {
on.area(marking, picture.time(now.x), false);
} else if (travelled > NEAR) {
var by = (before.x - now.x) * picture.perPixel();
on.point(null);
on.look(on.view.from + by, on.view.to + by);
}
});
canvas.addEventListener("pointerup", function(event) {
var pressed = down[event.pointerId] && travelled <= NEAR, at = spot(event),
place = pressed && marking === null ? picture.at(at.x, at.y) : null;
if (marking !== null && down[event.pointerId]) { on.area(marking, picture.time(at.x), true); }
marking = null;
delete down[event.pointerId];
apart = 0;
if (place) { on.pressed(place, event.pointerType === "mouse"); }
});
canvas.addEventListener("pointercancel", function(event) {
delete down[event.pointerId];
apart = 0;
});
canvas.addEventListener("pointerleave", function() { on.point(null); });
}
function timeline(state, root) {
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
function say(text) { part("status").textContent = text; }
var carried = state.passes.filter(function(pass) { return pass.chunk !== null; }), byId = {}, place = {};
var canvas = part("lanes"), shown = null, wanted = null;
state.passes.forEach(function(pass) { byId[pass.id] = pass; });
carried.forEach(function(pass, i) { place[pass.id] = i; });
function nameOf(id) { return /^\d+$/.test(id) && byId[id] ? passName(id, byId[id].label) : "pass " + id; }
var view = timelineView(function() { return nodesOf[byId[shown].graph]; });
var picture = lanesPicture(canvas, view), strip = stripPicture(part("strip"), state, part("pass"), go);
var soon = redrawn(function() {
if (shown === null) { return; }
picture.draw();
timelineLegend(part("legend"), part("sums"), view);
part("no-area").hidden = !view.area;
});
function kinds() {
timelineKinds(view, state, part("colours").value === "op");
soon();
}
function put(id) {
shown = id;
view.lanes = lanesOf(id);
view.others = othersOf(byId[id]);
kinds();
timelineWhole(view);
part("label").textContent = nameOf(id);
part("choose").value = String(id);
part("previous").disabled = place[id] === 0;
part("next").disabled = place[id] === carried.length - 1;
strip(id);
}
function show(id, node, message) {
wanted = id;
timelineLoad(byId[id], state.data, say, function() {
if (wanted !== id) { return; }
if (!spansOf[id]) {
say("The threads’ times of pass " + id + " are missing.");
return;
}
if (shown !== id) { put(id); }
timelineArea(view, addressWords().area);
acts.choose(node === undefined ? null : timelineFind(view, node, address().thread));
say(node === undefined || view.chosen ? message || "" : timelineMissed(node, id));
acts.reveal();
});
}
function go(id) {
putAddress({ pass: id, node: null, thread: null, area: null });
show(id);
}
function follow(jump) {
var to = address(), id = to.pass === undefined ? state.shown : to.pass;
if (!byId[id] || byId[id].chunk === null) {
show(shown === null ? state.shown : shown, undefined,
(byId[id] ? "This page does not hold the threads’ times of pass " : "This run has no pass ") + id + ".");
return;
}
show(id, to.node);
if (to.pass !== undefined && jump) { leadTo(root); }
}
function step(by) {
var next = carried[place[shown] + by];
if (next) { go(next.id); }
}
var acts = timelineActs(view,
timelinePage(view,
{ part: part, soon: soon, canvas: canvas, shown: function() { return shown; }, operations: state.operations }));
root.hidden = false;
part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
part("colours").addEventListener("change", kinds);
timelineInput(part, acts, step);
moved(canvas, acts, picture);
paged(step);
selectionNames.pass = nameOf;
whenSelected(follow);
follow(true);
}

function timelinePage(view, on) {
function nodeAt(at) { return view.lanes[at.lane].node[at.i]; }
function operation(at) { return on.operations + "#pass=" + on.shown() + (at ? "&node=" + nodeAt(at) : ""); }
return {
soon: on.soon,
tell: function() { timelineTell(on.part("about"), view, operation); },
cursor: function(name) { on.canvas.style.cursor = name; },
remember: function() {
var at = view.chosen;
putAddress({
pass: on.shown(),
node: at ? nodeAt(at) : null,
thread: at ? view.lanes[at.lane].thread : null,
area: view.area ? view.area.map(Math.round).join(",") : null
});
},
leave: function() { location.assign(operation(view.chosen)); }
};
}
function timelineArea(view, text) {
var ends = /^(\d{1,15}),(\d{1,15})$/.exec(text || ""), from = ends && +ends[1], to = ends && +ends[2];
view.area = ends && from < to && to <= view.whole ? [from, to] : null;
}

function timelineLoad(pass, folder, say, done) {
var paths = [];
if (!spansOf[pass.id]) { paths.push(folder + pass.chunk + ".js"); }
if (!nodesOf[pass.graph]) { paths.push(folder + "g" + pass.graph + ".js"); }
if (paths.length) { say("Loading …"); }
scripts(paths, done, function() { say("The threads’ times of pass " + pass.id + " could not be loaded."); });
}

function timelineActs(view, page) {
function choose(at) {
view.chosen = at;
page.tell();
page.soon();
}
function reveal() {
if (!view.chosen) { return; }
timelineReveal(view);
page.soon();
}
function take(at) {
if (!at) { return; }
view.pointed = null;
choose(at);
reveal();
page.remember();
}
function look(from, to) {
timelineLook(view, from, to);
page.soon();
}
function leave() {
if (view.chosen) { page.leave(); }
}
return {
view: view,
choose: choose,
reveal: reveal,
look: look,
leave: leave,
whole: function() { return view.to - view.from >= view.whole; },
point: function(at) {
var same = at && view.pointed && at.lane === view.pointed.lane && at.i === view.pointed.i;
if (same || (!at && !view.pointed)) { return; }
view.pointed = at;
page.cursor(at ? "pointer" : "");
page.tell();
page.soon();
},
pressed: function(at, mouse) {
take(at);
if (mouse) { leave(); }
},
zoom: function(by, time) {
timelineZoom(view, by, time);
page.soon();
},
move: function(share) {
var by = share * (view.to - view.from);
look(view.from + by, view.to + by);
},
fit: function() {
if (!view.chosen) { return; }
timelineFit(view);
page.soon();
},
area: function(a, b, done) {
var ends = [Math.max(0, Math.min(a, b)), Math.min(view.whole, Math.max(a, b))];
view.area = a === null || ends[1] - ends[0] < 1 ? null : ends;
page.soon();
if (done) { page.remember(); }
},
along: function(by) { take(timelineAlong(view, by)); },
across: function(by) { take(timelineAcross(view, by)); }
};
}

function timelineInput(part, acts, step) {
var buttons = {
previous: function() { step(-1); },
next: function() { step(1); },
closer: function() { acts.zoom(0.5); },
farther: function() { acts.zoom(2); },
left: function() { acts.move(-0.25); },
right: function() { acts.move(0.25); },
fit: acts.fit,
whole: function() { acts.look(0, acts.view.whole); },
"no-area": function() { acts.area(null, null, true); },
area: function() { acts.area(acts.view.from, acts.view.to, true); }
};
Object.keys(buttons).forEach(function(name) { part(name).addEventListener("click", buttons[name]); });
var keys = {
"+": buttons.closer,
"=": buttons.closer,
"-": buttons.farther,
"0": buttons.whole,
f: acts.fit,
Enter: acts.leave,
ArrowLeft: buttons.left,
ArrowRight: buttons.right,
ArrowUp: function() { acts.across(-1); },
ArrowDown: function() { acts.across(1); },
",": function() { acts.along(-1); },
".": function() { acts.along(1); }
};
part("lanes").addEventListener("keydown", function(event) {
if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) { return; }
event.preventDefault();
event.stopPropagation(); /* the site's theme has its own keys */
keys[event.key]();
});
}

starts.push(function() {
var state = stateOf("tg-timeline"), root = document.querySelector("[data-tg=timeline]");
if (state && root) { timeline(state, root); }
});
var expertsOf = {};
window.tracegenExperts = function(data) { expertsOf[data.layer] = data; };

function expertGrid(canvas, view) {
var LEFT = 96, TOP = 8, AXIS = 34, MOST = 600, STEPS = 8;
function several() { return Math.max(1, Math.ceil(view.rows / MOST)); }
function lines() { return Math.ceil(view.rows / several()); }
function high() { return Math.max(1, Math.min(16, Math.floor(MOST / lines()))); }
function tall() { return TOP + lines() * high() + AXIS; }
function wide() { return Math.max(canvas.parentNode.clientWidth - LEFT - 2, 10) / view.n; }

function counts(line) {
var numbers = {};
view.data.experts.slice(line * several(), (line + 1) * several()).forEach(function(choices) {
choices.forEach(function(expert) { numbers[expert] = (numbers[expert] || 0) + 1; });
});
return numbers;
}
function axis(on, bottom) {
var every = Math.max(1, Math.ceil(28 / wide())), expert;
on.pen.textAlign = "center";
on.pen.fillStyle = colourOf(canvas, "--tg-muted");
for (expert = 0; expert < view.n; expert += every) {
on.pen.fillText(String(expert), LEFT + (expert + 0.5) * wide(), bottom + 10);
}
on.pen.fillText("expert", LEFT + view.n * wide() / 2, bottom + 26);
}
function row(on, line, colours, thin) {
var numbers = counts(line), of = Math.min(several(), view.data.experts.length - line * several()),
y = line * high();
on.pen.fillStyle = colours.band;
on.pen.fillRect(LEFT, y, view.n * wide(), high() - thin);
Object.keys(numbers).forEach(function(expert) {
var step = Math.min(STEPS - 1, Math.max(0, Math.ceil(numbers[expert] / of * STEPS) - 1));
on.pen.fillStyle = several() === 1 ? colours.bar : colours["s" + step];
on.pen.fillRect(LEFT + expert * wide(), y, Math.max(wide() - thin, 1), high() - thin);
});
if (line % Math.ceil(16 / high()) === 0) {
on.pen.fillStyle = colours.muted;
on.pen.textAlign = "left";
on.pen.fillText(view.label(line * several()), 0, y + Math.min(high(), 16) / 2, LEFT - 8);
}
}
function draw() {
if (!view.data) { return; }
var n = lines(), on = sharp(canvas, tall()), line, names = ["band", "muted", "bar", "ink"], step;
canvas.setAttribute("data-layer", String(view.data.layer));
for (step = 0; step < STEPS; step += 1) { names.push("s" + step); }
var colours = coloursOf(canvas, names);
on.pen.translate(0, TOP);
for (line = 0; line < n; line += 1) { row(on, line, colours, high() > 4 ? 1 : 0); }
expertChosen(on, view,
{ x: LEFT, wide: wide(), high: high(), several: several(), bottom: n * high(), right: LEFT + view.n * wide() },
colours.ink);
if (view.at) {
on.pen.strokeStyle = colours.ink;
on.pen.lineWidth = 2;
on.pen.strokeRect(LEFT + view.at.expert * wide(), Math.floor(view.at.token / several()) * high(),
Math.max(wide(), 3), Math.max(high(), 3));
}
axis(on, n * high());
}
return {
draw: draw,
at: function(x, y) {
var token = Math.floor((y - TOP) / high()) * several(), expert = Math.floor((x - LEFT) / wide());
return view.data && token >= 0 && token < view.data.experts.length && expert >= 0 && expert < view.n ?
{ token: token, expert: expert } :
null;
},
several: several,
reserve: function() { canvas.style.height = tall() + "px"; } /* so that nothing moves when the data come */
};
}

function expertChosen(on, view, at, ink) {
var chosen = address(), row = chosen.pass === undefined ? -1 : view.data.pass.indexOf(chosen.pass);
on.pen.strokeStyle = ink;
on.pen.lineWidth = 1;
if (chosen.expert !== undefined && chosen.layer === view.data.layer && chosen.expert < view.n) {
on.pen.strokeRect(at.x + chosen.expert * at.wide, 0, Math.max(at.wide, 3), at.bottom);
}
if (row >= 0) {
on.pen.strokeRect(at.x, Math.floor(row / at.several) * at.high, at.right - at.x, Math.max(at.high, 3));
}
}

function expertLabel(data, row) {
return data.gives[row] === null ? "pass " + data.pass[row] : "token " + data.gives[row];
}
function expertWords(view, several) {
var data = view.data, at = view.at, n = view.rows, rows = n + (n === 1 ? " token" : " tokens");
if (!at) {
return rows + ", " + view.n + " experts" + (several > 1 ? ", " + several + " tokens per line" : "") + ".";
}
var chosenExperts = data.experts[at.token],
pass = data.gives[at.token] === null ? "" : " (pass " + data.pass[at.token] + ")";
var chosen = data.experts.filter(function(row) { return row.indexOf(at.expert) >= 0; }).length;
var order = data.by_weight ? ", the strongest first" : ", in llama.cpp’s order";
return expertLabel(data, at.token) + pass + (several > 1 ? ", the first of its line," : "") + " chose " +
chosenExperts.join(", ") + (chosenExperts.length === 1 ? "" : order) + ". Expert " + at.expert + " is chosen by " +
chosen + " of " + rows + " in this layer.";
}
function expertBeside(view, by, several) {
var at = view.at;
if (!at) { return { token: 0, expert: view.data.experts[0][0] }; }
return {
token: Math.min(Math.max(at.token + by[0] * several, 0), view.data.experts.length - 1),
expert: Math.min(Math.max(at.expert + by[1], 0), view.n - 1)
};
}

function experts(state, root) {
function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
function say(text) { part("status").textContent = text; }
var canvas = part("grid"), layers = state.layers, shown = null, wanted = null;
var view = { data: null, n: 1, rows: 0, at: null, label: function(row) { return expertLabel(view.data, row); } };
var grid = expertGrid(canvas, view), soon = redrawn(grid.draw);

function look(at) {
if (!view.data) { return; }
view.at = at;
part("about").textContent = expertWords(view, grid.several());
soon();
}
function size(layer) {
view.n = state.experts[layer];
view.rows = state.rows[layer];
view.at = null;
}
function put(layer) {
shown = layer;
view.data = expertsOf[layer];
size(layer);
part("label").textContent = part("choose").value = String(layer);
part("previous").disabled = layers.indexOf(layer) === 0;
part("next").disabled = layers.indexOf(layer) === layers.length - 1;
look(null);
}
function show(layer, message) {
wanted = layer;
function done() {
if (wanted !== layer) { return; }
say(message || "");
put(layer);
}
if (expertsOf[layer]) {
done();
return;
}
say("Loading …");
script(state.data + layer + ".js", done,
function() { say("The choices of layer " + layer + " could not be loaded."); });
}
function go(layer) {
putAddress({ layer: layer, expert: null });
show(layer);
}
function pick(at) {
if (at) { choose({ layer: shown, expert: at.expert, pass: view.data.pass[at.token] }); }
}
function step(by) {
var next = layers[layers.indexOf(shown) + by];
if (next !== undefined) { go(next); }
}
function follow(jump) {
var to = address().layer, known = layers.indexOf(to) >= 0;
show(known ? to : state.layer, to === undefined || known ? "" : "No token chose experts in layer " + to + ".");
if (to !== undefined && jump) { leadTo(root); }
}

size(state.layer);
grid.reserve();
part("about").textContent = expertWords(view, grid.several());
root.hidden = false;
part("choose").addEventListener("change", function(event) { go(parseInt(event.target.value, 10)); });
part("previous").addEventListener("click", function() { step(-1); });
part("next").addEventListener("click", function() { step(1); });
expertInput(canvas, view, grid, { look: look, pick: pick });
paged(step);
whenSelected(follow);
follow(true);
}

function expertInput(canvas, view, grid, acts) {
var look = acts.look;
var by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
canvas.addEventListener("pointermove", function(event) {
var box = canvas.getBoundingClientRect();
if (view.data) { look(grid.at(event.clientX - box.left, event.clientY - box.top)); }
});
canvas.addEventListener("pointerleave", function() { look(null); });
canvas.addEventListener("click", function(event) {
var box = canvas.getBoundingClientRect();
if (view.data) { acts.pick(grid.at(event.clientX - box.left, event.clientY - box.top)); }
});
canvas.addEventListener("keydown", function(event) {
if (event.key === "Enter" && view.data) { acts.pick(view.at); }
if (!by[event.key] || !view.data || event.ctrlKey || event.metaKey || event.altKey) { return; }
event.preventDefault();
look(expertBeside(view, by[event.key], grid.several()));
});
}

starts.push(function() {
var state = stateOf("tg-experts"), root = document.querySelector("[data-tg=experts]");
if (state && root) { experts(state, root); }
});
}());
