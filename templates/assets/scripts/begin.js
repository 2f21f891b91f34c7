/* The last file: runs all `starts` when the page is loaded. */
function begin() {
  starts.forEach(function(start) { start(); });
  selectionBar(); /* again: by now each part of the page has said how it names passes and tensors */
}
if (document.readyState === "loading") {
  document.addEventListener("DOMContentLoaded", begin);
} else {
  begin();
}
