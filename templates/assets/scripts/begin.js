/* Runs all `starts` and `ends` when the page and its scripts are loaded. */
function begin() {
  starts.concat(ends).forEach(function(start) { start(); });
  selectionBar(); /* again: by now each part of the page has said how it names passes and tensors */
}
if (document.readyState === "complete") {
  begin();
} else {
  document.addEventListener("DOMContentLoaded", begin);
}
