/* The index of experiments: search, and one tag. What is chosen stands in the address; Back undoes it. Without this
   script the page is a plain list of all experiments. */
(function() {
"use strict";
function begin(form, list) {
  var fields = Array.from(form.querySelectorAll("[name]")), search = form.elements.q, tag = form.elements.tag;
  var items = Array.from(list.children), typed = false;
  var count = form.querySelector("output"), clear = form.querySelector("button");
  var texts = items.map(function(item) { return item.textContent.toLowerCase(); });
  var tags = items.map(function(item) {
    return Array.from(item.querySelectorAll("p > span")).map(function(of) { return of.textContent; });
  });

  /* The address of what is chosen: `q=…&tag=…`; empty where nothing is. */
  function address() {
    var chosen = fields.filter(function(field) { return field.value; });
    return new URLSearchParams(chosen.map(function(field) { return [field.name, field.value]; })).toString();
  }
  function show() {
    var words = search.value.toLowerCase().split(/\s+/), n = 0;
    items.forEach(function(item, i) {
      item.hidden = !words.every(function(word) { return texts[i].indexOf(word) >= 0; }) ||
        Boolean(tag && tag.value && tags[i].indexOf(tag.value) < 0);
      n += item.hidden ? 0 : 1;
    });
    var of = items.length === 1 ? "1 experiment" : items.length + " experiments";
    count.textContent = n === items.length ? of : n ? n + " of " + of : "None of " + of + " matches.";
    clear.hidden = !address();
  }
  /* Puts what the controls say into the address; letters of one search are one step of Back. */
  function take(typing) {
    var to = address() ? "#" + address() : location.pathname + location.search;
    history[typing && typed ? "replaceState" : "pushState"](null, "", to);
    typed = typing;
    show();
  }
  /* Takes what the address says; a tag that no experiment has is left out. */
  function follow() {
    if (location.hash && location.hash.indexOf("=") < 0) { return; } // a link to a place of the page
    var given = new URLSearchParams(location.hash.slice(1));
    search.value = given.get("q") || "";
    if (tag) {
      tag.value = given.get("tag") || "";
      tag.selectedIndex = Math.max(tag.selectedIndex, 0);
    }
    typed = false;
    show();
  }
  form.addEventListener("input", function(event) { take(event.target === search); });
  form.addEventListener("submit", function(event) { event.preventDefault(); });
  clear.addEventListener("click", function() {
    fields.forEach(function(field) { field.value = ""; });
    take(false);
    search.focus();
  });
  window.addEventListener("popstate", follow);
  show();
  follow();
}

var form = document.querySelector(".tracegen-filters");
if (form) { begin(form, document.querySelector(".tracegen-index")); }
}());
