/* Opens the folded parts that hold what the address leads to, and the part that is folded in it. */
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
  /* The list of the page lies over it: it closes when the reader has chosen, or goes elsewhere. */
  document.addEventListener("click", function(event) {
    if (!event.target.closest(".tg-fold summary")) { list.open = false; }
  });
  list.addEventListener("keydown", function(event) {
    if (event.key !== "Escape") { return; }
    list.open = false;
    list.firstElementChild.focus();
  });
});
