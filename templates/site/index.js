/* The index of experiments: filter, sort and search. What is chosen stands in the address; Back undoes it. Without this
   script the page is a plain list of all experiments, the newest first. */
(function() {
"use strict";
var FILTERS = ["model", "architecture", "tag", "verdict", "recorded"];
var COLUMN = { model: 3, architecture: 4, verdict: 5, tag: 6, recorded: 7 };
/* key in the address: column of a row, and whether the largest stands first; the others are compared otherwise */
var SORTS = {
  "": [],
  oldest: [],
  name: [],
  fastest: [1, true],
  slowest: [1, false],
  largest: [0, true],
  smallest: [0, false],
  most: [2, true],
  least: [2, false]
};

/* The state that an address has; words that this list does not know are left out. */
function stateOf(hash, words) {
  var state = { q: "", sort: "" };
  hash.replace(/^#/, "").split("&").forEach(function(part) {
    var at = part.indexOf("="), key = part.slice(0, at), value = "";
    try {
      value = decodeURIComponent(part.slice(at + 1).replace(/\+/g, " "));
    } catch (_) { return; }
    if (key === "q") { state.q = value; }
    if (key === "sort" && Object.keys(SORTS).indexOf(value) >= 0) { state.sort = value; }
    if (FILTERS.indexOf(key) >= 0 && words[key].indexOf(value) >= 0) { state[key] = value; }
  });
  return state;
}
/* The address of a state: `model=…&sort=fastest&q=…`; empty where nothing is chosen. */
function addressOf(state) {
  return FILTERS.concat(["sort", "q"])
    .filter(function(key) { return state[key]; })
    .map(function(key) { return key + "=" + encodeURIComponent(state[key]).replace(/%20/g, "+"); })
    .join("&");
}
/* Whether an experiment is shown: it has each chosen word, and its text each word of the search. */
function isShown(row, text, state, words) {
  return FILTERS.every(function(key) {
    var value = row[COLUMN[key]], place = words[key].indexOf(state[key]);
    return !state[key] || value === place || (Array.isArray(value) && value.indexOf(place) >= 0);
  }) &&
    state.q.toLowerCase().split(/\s+/).every(function(word) { return text.indexOf(word) >= 0; });
}
/* The numbers of all experiments in the order of a sort; those without the value it sorts by stand last. */
function inOrder(rows, names, dated, key) {
  var sort = SORTS[key], sign = sort[1] ? -1 : 1;
  return rows.map(function(_, i) { return i; }).sort(function(a, b) {
    if (key === "") { return a - b; }
    if (key === "name") { return names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0; }
    if (key === "oldest") { return (dated[b] - dated[a]) || b - a; }
    var x = rows[a][sort[0]], y = rows[b][sort[0]];
    return x === null || y === null ? (x === null) - (y === null) || a - b : sign * (x - y) || a - b;
  });
}

/* The controls of the form by their names; a filter without a word has none. */
function controls(form) {
  var fields = {};
  Array.from(form.querySelectorAll("[name]")).forEach(function(field) { fields[field.name] = field; });
  return fields;
}
/* The words of each filter, in the order of the list: a row has places in it. */
function wordsOf(fields) {
  var words = {};
  FILTERS.forEach(function(key) {
    var options = fields[key] ? Array.from(fields[key].options) : [];
    words[key] = options.slice(1).map(function(option) { return option.value; });
  });
  return words;
}

function begin(form, list, rows) {
  var items = Array.from(list.children), state = null, order = "", typed = false;
  var texts = items.map(function(item) { return item.textContent.toLowerCase(); });
  var names = items.map(function(item) { return item.querySelector("h3").textContent.toLowerCase(); });
  var dated = items.map(function(item) { return item.querySelector("p > a") ? 1 : 0; });
  var fields = controls(form), words = wordsOf(fields);
  var count = form.querySelector("output"), clear = form.querySelector("button");

  function show() {
    var n = 0;
    items.forEach(function(item, i) {
      item.hidden = !isShown(rows[i], texts[i], state, words);
      n += item.hidden ? 0 : 1;
    });
    if (state.sort !== order) {
      list.append.apply(list, inOrder(rows, names, dated, state.sort).map(function(i) { return items[i]; }));
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
    if (address !== addressOf(stateOf(location.hash, words))) {
      history[typing && typed ? "replaceState" : "pushState"](null, "",
        address ? "#" + address : location.pathname + location.search);
    }
    typed = typing;
    show();
  }
  function follow() {
    if (location.hash && location.hash.indexOf("=") < 0) { return; } // a link to a place of the page
    state = stateOf(location.hash, words);
    typed = false;
    show();
  }
  form.addEventListener("input", function(event) { take(event.target === fields.q); });
  form.addEventListener("submit", function(event) { event.preventDefault(); });
  clear.addEventListener("click", function() {
    Object.keys(fields).forEach(function(key) { fields[key].value = ""; });
    take(false);
    fields.q.focus();
  });
  window.addEventListener("popstate", follow);
  state = stateOf("", words);
  show();
  follow();
}

var data = document.getElementById("tracegen-index");
if (data) {
  begin(document.querySelector(".tracegen-filters"), document.querySelector(".tracegen-index"),
    JSON.parse(data.textContent));
}
}());
