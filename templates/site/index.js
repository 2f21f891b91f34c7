/* The index of experiments: filter, sort and search. What is chosen stands in the address; Back undoes it. Without this
   script the page is a plain list of all experiments, the newest first. */
(function() {
"use strict";
var FILTERS = [
  ["model", "Model"], ["architecture", "Architecture"], ["tag", "Tag"], ["verdict", "Verdict"], ["recorded", "Recorded"]
];
var COLUMN = { model: 3, architecture: 4, verdict: 5, tag: 6, recorded: 7 };
/* key in the address, words, column of a row or how to compare, and whether the largest stands first */
var SORTS = [
  ["", "newest first"], ["oldest", "oldest first"], ["name", "name"], ["fastest", "fastest first", 1, true],
  ["slowest", "slowest first", 1, false], ["largest", "largest model first", 0, true],
  ["smallest", "smallest model first", 0, false], ["most", "most touched first", 2, true],
  ["least", "least touched first", 2, false]
];

/* The state that an address has; words that this list does not know are left out. */
function stateOf(hash, words) {
  var state = { q: "", sort: "" };
  hash.replace(/^#/, "").split("&").forEach(function(part) {
    var at = part.indexOf("="), key = part.slice(0, at), value = "";
    try { value = decodeURIComponent(part.slice(at + 1).replace(/\+/g, " ")); } catch (_) { return; }
    if (key === "q") { state.q = value; }
    if (key === "sort" && SORTS.some(function(sort) { return sort[0] === value; })) { state.sort = value; }
    if (FILTERS.some(function(filter) { return filter[0] === key; }) && words[key].indexOf(value) >= 0) {
      state[key] = value;
    }
  });
  return state;
}
/* The address of a state: `model=…&sort=fastest&q=…`; empty where nothing is chosen. */
function addressOf(state) {
  var keys = FILTERS.map(function(filter) { return filter[0]; }).concat(["sort", "q"]);
  return keys.filter(function(key) { return state[key]; })
    .map(function(key) { return key + "=" + encodeURIComponent(state[key]).replace(/%20/g, "+"); }).join("&");
}
/* Whether an experiment is shown: it has each chosen word, and its text each word of the search. */
function isShown(row, text, state, words) {
  return FILTERS.every(function(filter) {
    var key = filter[0], value = row[COLUMN[key]], place = words[key].indexOf(state[key]);
    return !state[key] || value === place || (Array.isArray(value) && value.indexOf(place) >= 0);
  }) && state.q.toLowerCase().split(/\s+/).every(function(word) { return text.indexOf(word) >= 0; });
}
/* The numbers of all experiments in the order of a sort; those without the value it sorts by stand last. */
function inOrder(rows, names, dated, key) {
  var sort = SORTS.filter(function(one) { return one[0] === key; })[0], sign = sort[3] ? -1 : 1;
  return rows.map(function(_, i) { return i; }).sort(function(a, b) {
    if (key === "") { return a - b; }
    if (key === "name") { return names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0; }
    if (key === "oldest") { return (dated[b] - dated[a]) || b - a; }
    var x = rows[a][sort[2]], y = rows[b][sort[2]];
    return x === null || y === null ? (x === null) - (y === null) || a - b : sign * (x - y) || a - b;
  });
}

function element(tag, words, attributes) {
  var made = document.createElement(tag);
  made.textContent = words;
  Object.keys(attributes || {}).forEach(function(name) { made.setAttribute(name, attributes[name]); });
  return made;
}
/* A labelled control in the form; `options` are [value, words], none for the field of the search. */
function control(form, key, words, options) {
  var label = element("label", words), field = document.createElement(options ? "select" : "input");
  if (!options) {
    field.type = "search";
    field.autocomplete = "off";
  }
  (options || []).forEach(function(option) { field.append(element("option", option[1], { value: option[0] })); });
  field.name = key;
  label.append(field);
  form.append(label);
  return field;
}
function controls(form, data) {
  var fields = { q: control(form, "q", "Search") };
  FILTERS.forEach(function(filter) {
    var key = filter[0], words = data.words[key];
    var counted = words.map(function(word, place) {
      var n = data.rows.filter(function(row) { return [].concat(row[COLUMN[key]]).indexOf(place) >= 0; }).length;
      return [word, word + " (" + n + ")"];
    });
    if (words.length) { fields[key] = control(form, key, filter[1], [["", "all"]].concat(counted)); }
  });
  fields.sort = control(form, "sort", "Sort", SORTS);
  return fields;
}

function begin(form, list, data) {
  var items = Array.from(list.children), state = null, order = "", typed = false;
  var texts = items.map(function(item) { return item.textContent.toLowerCase(); });
  var names = items.map(function(item) { return item.querySelector("h2").textContent.toLowerCase(); });
  var dated = items.map(function(item) { return item.querySelector("p > a") ? 1 : 0; });
  var fields = controls(form, data), count = element("output", "", { "aria-live": "polite" });
  var clear = element("button", "Show all", { type: "button" });

  function show() {
    var n = 0;
    items.forEach(function(item, i) {
      item.hidden = !isShown(data.rows[i], texts[i], state, data.words);
      n += item.hidden ? 0 : 1;
    });
    if (state.sort !== order) {
      list.append.apply(list, inOrder(data.rows, names, dated, state.sort).map(function(i) { return items[i]; }));
      order = state.sort;
    }
    var of = items.length === 1 ? "1 experiment" : items.length + " experiments";
    count.textContent = n === items.length ? of : n ? n + " of " + of : "None of " + of + " matches.";
    clear.hidden = !addressOf(state);
    Object.keys(fields).forEach(function(key) {
      if (fields[key].value !== (state[key] || "")) { fields[key].value = state[key] || ""; }
    });
  }
  /* Takes what the controls say; letters of one search are one step of Back. */
  function take(typing) {
    Object.keys(fields).forEach(function(key) { state[key] = fields[key].value; });
    var address = addressOf(state);
    if (address !== addressOf(stateOf(location.hash, data.words))) {
      history[typing && typed ? "replaceState" : "pushState"](null, "",
        address ? "#" + address : location.pathname + location.search);
    }
    typed = typing;
    show();
  }
  function follow() {
    if (location.hash && location.hash.indexOf("=") < 0) { return; } // a link to a place of the page
    state = stateOf(location.hash, data.words);
    typed = false;
    show();
  }
  form.append(element("i", ""), count, clear); // they stand on a line of their own
  form.addEventListener("input", function(event) { take(event.target === fields.q); });
  form.addEventListener("submit", function(event) { event.preventDefault(); });
  clear.addEventListener("click", function() {
    Object.keys(fields).forEach(function(key) { fields[key].value = ""; });
    take(false);
    fields.q.focus();
  });
  window.addEventListener("popstate", follow);
  state = stateOf("", data.words);
  show();
  follow();
  form.hidden = false;
}

var data = document.getElementById("tracegen-index");
if (data) {
  begin(document.querySelector(".tracegen-filters"), document.querySelector(".tracegen-index"),
    JSON.parse(data.textContent));
}
}());
