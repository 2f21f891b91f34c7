/* The last file: runs all `starts` when the page is loaded. */
function begin() {
  starts.forEach(function(start) { start(); });
}
if (document.readyState === "loading") {
  document.addEventListener("DOMContentLoaded", begin);
} else {
  begin();
}
