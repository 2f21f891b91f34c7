/* The selection: what a reader chose, the same on all pages of a report. It stands in the address and is shown in the
   bar at the top of the page; Back undoes a choice. */
var SELECTION = ["pass", "layer", "group", "component", "expert", "tensor", "node", "thread"];

/* The address that has these words: those of the selection first, then those of the page. */
function addressText(words) {
  var keys = SELECTION.concat(Object.keys(words).filter(function(key) { return SELECTION.indexOf(key) < 0; }).sort());
  return keys.filter(function(key) { return words[key] !== undefined && words[key] !== null && words[key] !== ""; })
    .map(function(key) { return key + "=" + encodeURIComponent(words[key]).replace(/%2C/g, ",").replace(/%3A/g, ":"); })
    .join("&");
}
/* The words of the selection alone. */
function selected(words) {
  var chosen = {};
  SELECTION.forEach(function(key) {
    if (words[key]) { chosen[key] = words[key]; }
  });
  return chosen;
}
/* The part of the address that is not a word: the place of the page that it leads to, as `g0-n12` of the graph. */
function addressPlace() {
  var first = location.hash.slice(1).split("&")[0];
  return first.indexOf("=") < 0 ? first : "";
}
/* Puts words into the address, and takes away those that are undefined, null or empty; `place`: a new place of the
   page. A changed selection or place is a step that Back undoes; changes of other words, as of a filter, are not, and
   nothing is if `still`: where the page only completes the address that it was opened with. */
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
/* Chooses, and lets the page follow. */
function choose(changes) {
  putAddress(changes);
  window.dispatchEvent(new Event("tracegen:selected"));
}
/* Calls `follow` when the selection was changed: `follow(false)` where a part of this page changed it, `follow(true)`
   after Back or a link, which may lead to a place of the page. */
function whenSelected(follow) {
  window.addEventListener("hashchange", function() {
    selectionBar();
    follow(true);
  });
  window.addEventListener("tracegen:selected", function() { follow(false); });
}
/* Shows the element that a link to this page leads to, unless the link only carries what was chosen elsewhere. */
function leadTo(element) {
  if (!addressWords().at) { element.scrollIntoView({ block: "start" }); }
}

/* A pass by its label and its number: `token 5 (pass 7)`. */
function passName(id, label) { return /\(pass \d+\)$/.test(label) ? label : label + " (pass " + id + ")"; }
/* The name of a pass from those that the bar has: [first and last pass, the token of the first or a name]. */
function passNamed(names, id) {
  var pass = parseInt(id, 10), known = names.filter(function(one) { return one[0] <= pass && pass <= one[1]; })[0];
  if (!known || String(pass) !== String(id)) { return "pass " + id + (names.length ? ", which this run lacks" : ""); }
  return passName(pass, typeof known[2] === "string" ? known[2] : "token " + (known[2] + pass - known[0]));
}
/* How a page names a pass or a tensor; pages that know more replace it. */
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
/* What is chosen, in words: `token 5 (pass 7), layer 2, attention`. */
function selectionWords(chosen) {
  return Object.keys(chosen).map(function(key) { return selectionText(key, chosen[key]); }).join(", ");
}

/* Draws the bar: a button for each part of the selection, which takes it away. */
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

/* Links to other pages of the report carry the selection, unless they say themselves what they choose. */
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
/* `at=ID` in an address leads to the element with this id, as `#ID` does where nothing is chosen; no element has the id
   `top`. */
function toPlace() {
  var place = addressWords().at, element = place && document.getElementById(place);
  if (element) { element.scrollIntoView({ block: "start" }); }
}

/* Calls `again` whenever the page becomes taller, as tables do that unpack their rows, until the reader acts. */
function whileGrowing(again) {
  var watch = new ResizeObserver(again);
  watch.observe(document.body);
  ["wheel", "pointerdown", "keydown", "touchstart"].forEach(function(kind) {
    window.addEventListener(kind, function() { watch.disconnect(); }, { capture: true, once: true, passive: true });
  });
  window.setTimeout(function() { watch.disconnect(); }, 5000);
}

/* The address of this page as it is seen: what is chosen, and the figure, table or section at the top of the window. */
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

/* The same for others: of a file its published address, or else its place inside the version, with the name of that. */
function linkSeen(bar) {
  var seen = addressSeen(), hash = seen.indexOf("#") < 0 ? "" : seen.slice(seen.indexOf("#"));
  if (location.protocol !== "file:") { return seen; }
  var url = publishedAt(bar, hash);
  return isAddress(url) ? url : bar.dataset.cited + ", " + url;
}

/* Copies a text, and says so in `status`. Where the browser does not allow it, the text is there to be copied by hand:
   in `field`, a text field that holds it, or else in `status`. */
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

/* The link to the lines for an issue copies them. */
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
