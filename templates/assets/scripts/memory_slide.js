/* The slider of memory below the curve of hit rates: what each policy would serve, read and take. */

/* The hit rate of a curve [sizes, rates] at a size: that of the largest known size which is not above it, or, if the
   rate is known at some sizes alone (`steps`: false), on the line to the next one, over the logarithm of size. */
function slideRate(curve, size, steps) {
  var at = firstWhere(curve[0].length, function(i) { return curve[0][i] > size; }), low = curve[1][at - 1], from, to;
  if (!at || steps || at === curve[0].length) { return at ? low : 0; }
  from = Math.log(curve[0][at - 1]);
  to = Math.log(curve[0][at]);
  return low + (curve[1][at] - low) * (Math.log(size) - from) / (to - from);
}
/* What a policy serves at a size, what a token then reads again, in bytes, and the least time that it takes, in ns. */
function slideRow(state, policy, size) {
  var rate = slideRate(state.curves[policy], size, policy === "LRU"), bytes = (1 - rate) * state.token_bytes;
  return {
    rate: rate,
    bytes: bytes,
    ns: state.computing_ns === null ? null : state.computing_ns + bytes / state.rate * 1e9
  };
}

starts.push(function() {
  var state = stateOf("tg-memory-slide"), root = document.getElementById("memory-slide");
  if (!state || !root) { return; }
  var slider = root.querySelector("input"), output = root.querySelector("output"), rows = root.querySelector("tbody");
  slider.min = Math.ceil(slider.max * state.least / state.most);
  function size() { return state.most * slider.value / slider.max; }
  function show() {
    output.textContent =
      bytesOf(size()) + ", " + fixed(100 * size() / state.most, 1, 0) + THIN + "% of what was touched";
    rows.textContent = "";
    Object.keys(state.curves).forEach(function(policy) {
      var found = slideRow(state, policy, size()), line = rows.appendChild(make("tr"));
      line.appendChild(make("th", "", policy)).scope = "row";
      [fixed(100 * found.rate, 1, 1), fixed(found.bytes, 1 << 20, 2), fixed(found.ns, 1e6, 2)].forEach(
        function(text) { line.appendChild(make("td", "tg-n", text)); });
    });
  }
  function follow() {
    var asked = address().memory;
    if (asked !== undefined) { slider.value = Math.min(asked / state.most, 1) * slider.max; }
    show();
  }
  slider.addEventListener("input", show);
  slider.addEventListener("change", function() { putAddress({ memory: Math.round(size()) }, undefined, true); });
  window.addEventListener("hashchange", follow);
  root.hidden = false;
  follow();
});
