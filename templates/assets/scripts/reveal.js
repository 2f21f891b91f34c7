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
  window.addEventListener("hashchange", reveal);
  reveal();
});
