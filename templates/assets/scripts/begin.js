/* Last: every part begins when the page is there. */
function begin() {
  starts.forEach(function(start) { start(); });
}
if (document.readyState === "loading") {
  document.addEventListener("DOMContentLoaded", begin);
} else {
  begin();
}
