/* What scripts add to a report. All files of this folder are one classic script without requests of its own making, in
   the order of pages/render.py: it works from file://, and every page is whole without it. A file that has something
   to begin with appends a function to `starts`. */
var starts = [];

var THIN = "\u202f";

function group(text) {
  var parts = text.split(".");
  parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return parts.join(".");
}
function fixed(value, scale, digits) {
  return value === null || value === undefined ? "—" : group((value / scale).toFixed(digits));
}
function exact(value) { return value === null || value === undefined ? "—" : group(String(value)); }
function make(tag, className, text) {
  var element = document.createElement(tag);
  if (className) { element.className = className; }
  if (text !== undefined && text !== null) { element.textContent = text; }
  return element;
}
/* The first of n that `holds`, when all after it do; n when none does. */
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
/* The words of an address, "key=value" between "&", decoded; what cannot be decoded is left out. */
function addressWords() {
  var found = {};
  location.hash.slice(1).split("&").forEach(function(part) {
    var at = part.indexOf("=");
    try {
      if (at > 0) { found[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); }
    } catch (error) { /* no word */
    }
  });
  return found;
}
/* Those of its words that are whole numbers. */
function address() {
  var words = addressWords(), found = {};
  Object.keys(words).forEach(function(key) {
    if (/^\d+$/.test(words[key])) { found[key] = parseInt(words[key], 10); }
  });
  return found;
}
function stateOf(id) {
  var element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

/* A data script, asked for once. */
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
  element.onload = settle(0);
  element.onerror = settle(1);
  document.head.appendChild(element);
}

/* Several of them: `done` when all have come, `failed` when one cannot. */
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

/* Whether a key is meant for the page: nothing is typed, and it is no shortcut of the browser. */
function pageKey(event) {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
}
/* The keys n and p go to the next and the previous of what a page chooses from. */
function paged(step) {
  document.addEventListener("keydown", function(event) {
    var by = { n: 1, p: -1 }[event.key];
    if (by && pageKey(event)) { step(by); }
  });
}
