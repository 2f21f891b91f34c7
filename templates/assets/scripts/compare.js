/* The page of a comparison: copies it as Markdown, and shows only what became better, or worse. */
function comparedRows(rows, only) {
  var shown = 0;
  rows.forEach(function(row) {
    var fits = !only || row.lastElementChild.textContent.trim() === only;
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  });
  return shown;
}

ends.push(function() {
  var root = document.querySelector("[data-tg=comparison]"), table = document.querySelector("#tab-timed tbody"), rows;
  if (!root) { return; }
  function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
  root.hidden = false;
  part("copy-markdown")
    .addEventListener("click", function() { copied(part("markdown").value, part("said"), part("markdown")); });
  if (!table) { return; }
  rows = Array.from(table.rows);
  function follow() {
    var wanted = addressWords().only, only = wanted === "better" || wanted === "worse" ? wanted : "", shown;
    part("only").value = only;
    if (only && table.closest("details")) { table.closest("details").open = true; }
    shown = comparedRows(rows, only);
    part("told").textContent =
      only ? shown + " of " + rows.length + " timed measures listed below became " + only + "." : "";
  }
  part("only").addEventListener("change", function(event) {
    putAddress({ only: event.target.value });
    follow();
  });
  whenSelected(follow);
  follow();
});
