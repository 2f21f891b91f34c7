/* The scripts of a report. All files of this folder form one classic script, in the order of pages/render.py. It makes
   no requests but script elements, so it works from file://, and every page is complete without it. A file that must
   run code when the page is loaded appends a function to `starts`; to `ends`, if it needs what those have drawn. */
var starts = [], ends = [];

var THIN = "\u202f";

function group(text) {
  var parts = text.split(".");
  parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return parts.join(".");
}
/* A number with so many decimals, as Python writes it: of two that are equally near, the even one. */
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
/* The name of a kind of memory; weights that were copied can be on a device. */
function kindOfMemory(kind) {
  var bar = document.querySelector("[data-copied]");
  return kind === "disk" ? "mapped" : kind === "copied" && bar ? bar.dataset.copied : kind;
}
/* The first of 0 … n-1 for which `holds` is true, if it stays true for all after it; n if there is none. */
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
/* The words of the address behind #, "key=value" between "&", decoded; a word that cannot be decoded is left out. */
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
/* The words of the address that are whole numbers, as numbers. */
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

/* Calls a function with deflated arguments: JSON of a list, in base64. The script element knows when that is done. */
window.tracegenPacked = function(name, text) {
  var bytes = Uint8Array.from(atob(text), function(sign) { return sign.charCodeAt(0); });
  var plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  document.currentScript.unpacked = new Response(plain).json().then(function(list) { window[name].apply(null, list); });
};

/* Loads a data script; callers that ask meanwhile for the same script share one request. */
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

/* Loads several scripts; calls `done` when all are loaded, `failed` when one cannot be loaded. */
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

/* Whether a key is meant for the page: not typed into a field, and no shortcut of the browser. */
function pageKey(event) {
  return !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
}
/* The keys n and p call `step` for the next and the previous pass or layer. */
function paged(step) {
  document.addEventListener("keydown", function(event) {
    var by = { n: 1, p: -1 }[event.key];
    if (by && pageKey(event)) { step(by); }
  });
}
