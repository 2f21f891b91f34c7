/* The steps between an experiment's versions: all, or only those where something became better or worse. What is chosen
   stands in the address; Back undoes it. Without this script all steps are shown. */
(function() {
"use strict";
var CHOICES = [["", "all"], ["either", "better or worse"], ["worse", "only worse"], ["better", "only better"]];

/* The choice that an address has (`#steps=worse`); a word that is none is left out. */
function choiceOf(hash) {
  var found = /(?:^#|&)steps=([a-z]*)(?:&|$)/.exec(hash);
  return found && CHOICES.some(function(choice) { return choice[0] === found[1]; }) ? found[1] : "";
}
function isShown(item, choice) {
  var kinds = (item.getAttribute("data-step") || "").split(" ").filter(Boolean);
  return !choice || (choice === "either" ? kinds.length > 0 : kinds.indexOf(choice) >= 0);
}
function element(tag, words, attributes) {
  var node = document.createElement(tag);
  node.textContent = words;
  Object.keys(attributes || {}).forEach(function(name) { node.setAttribute(name, attributes[name]); });
  return node;
}

function begin(form, items, fold) {
  var label = element("label", "Steps"), field = element("select", "", { name: "steps" });
  var count = element("output", "", { "aria-live": "polite" }), folded = fold && !fold.open;
  CHOICES.forEach(function(choice) {
    var n = items.filter(function(item) { return isShown(item, choice[0]); }).length;
    field.append(element("option", choice[1] + " (" + n + ")", { value: choice[0] }));
  });
  label.append(field);
  form.append(label, count);

  function show(choice) {
    var n = 0, of = items.length === 1 ? "1 step" : items.length + " steps";
    items.forEach(function(item) {
      item.hidden = !isShown(item, choice);
      n += item.hidden ? 0 : 1;
    });
    if (fold) {
      fold.hidden = !items.some(function(item) { return fold.contains(item) && !item.hidden; });
      fold.open = choice ? true : !folded;
    }
    count.textContent = n ? n + " of " + of : "None of " + of + " is known to be so.";
    field.value = choice;
  }
  form.addEventListener("input", function() {
    var address = field.value ? "#steps=" + field.value : location.pathname + location.search;
    if (field.value !== choiceOf(location.hash)) { history.pushState(null, "", address); }
    show(field.value);
  });
  form.addEventListener("submit", function(event) { event.preventDefault(); });
  window.addEventListener("popstate", function() {
    if (location.hash && location.hash.indexOf("=") < 0) { return; } // a link to a place of the page
    show(choiceOf(location.hash));
  });
  form.hidden = false;
  show(choiceOf(location.hash));
  if (choiceOf(location.hash)) { document.getElementById("steps").scrollIntoView(); }
}

var form = document.querySelector(".tracegen-steps-shown");
if (form) {
  begin(form, Array.from(document.querySelectorAll("[data-step]")), document.querySelector(".tracegen-steps details"));
}
}());
