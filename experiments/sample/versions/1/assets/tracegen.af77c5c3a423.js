/* What scripts add to a report: other passes on demand, operands that unfold, addresses of single operations.
   A classic script without requests of its own making: it works from file:// and the page is whole without it. */
(function () {
  "use strict";

  var THIN = "\u202f";

  function group(text) {
    var parts = text.split(".");
    parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
    return parts.join(".");
  }
  function fixed(value, scale, digits) {
    return value === null || value === undefined ? "—" : group((value / scale).toFixed(digits));
  }
  function exact(value) {
    return value === null || value === undefined ? "—" : group(String(value));
  }
  function make(tag, className, text) {
    var element = document.createElement(tag);
    if (className) { element.className = className; }
    if (text !== undefined && text !== null) { element.textContent = text; }
    return element;
  }
  function address() {
    var found = {};
    location.hash.slice(1).split("&").forEach(function (part) {
      var pair = part.split("=");
      if (pair.length === 2 && /^\d+$/.test(pair[1])) { found[pair[0]] = parseInt(pair[1], 10); }
    });
    return found;
  }
  function stateOf(id) {
    var element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  }

  /* Chunks: one classic script each, asked for once. */
  var passes = {}, placements = {}, waiting = {};
  window.tracegenChunk = function (list) { list.forEach(function (pass) { passes[pass.id] = pass; }); };
  window.tracegenStatic = function (data) { placements[data.placement] = data; };
  function script(path, done, failed) {
    if (waiting[path]) { waiting[path].push([done, failed]); return; }
    waiting[path] = [[done, failed]];
    var element = document.createElement("script");
    function settle(i) {
      return function () {
        var callers = waiting[path];
        delete waiting[path];
        callers.forEach(function (caller) { caller[i](); });
      };
    }
    element.src = path;
    element.onload = settle(0);
    element.onerror = settle(1);
    document.head.appendChild(element);
  }

  function operations(state) {
    var root = document.getElementById("tab-operations");
    var body = root.querySelector("[data-tg=rows]");
    if (!body) { return; }
    function part(name) { return root.querySelector("[data-tg=" + name + "]"); }
    var order = state.passes, shown = state.shown, wanted = shown, place = {};
    order.forEach(function (pass, i) { place[pass.id] = i; });

    function load(id, done) {
      var pass = order[place[id]], left = 0;
      function arrived() { left -= 1; if (left === 0) { done(); } }
      function failed() { part("status").textContent = "The rows of pass " + id + " could not be loaded."; }
      var paths = [];
      if (!passes[id] && pass.chunk !== null) { paths.push(state.data + pass.chunk + ".js"); }
      if (pass.placement !== null && !placements[pass.placement]) { paths.push(state.data + "p" + pass.placement + ".js"); }
      if (!paths.length) { done(); return; }
      left = paths.length;
      part("status").textContent = "Loading …";
      paths.forEach(function (path) { script(path, arrived, failed); });
    }

    function cell(row, text, className, bar) {
      var made = make("td", className);
      if (bar !== undefined) {
        var line = make("i", "tg-bar");
        line.style.setProperty("--share", bar.toFixed(4));
        made.appendChild(line);
      }
      made.appendChild(document.createTextNode(text));
      row.appendChild(made);
    }

    function rows(id) {
      var pass = passes[id], known = placements[order[place[id]].placement] || { nodes: {}, operands: {} };
      var made = document.createDocumentFragment(), longest = 1;
      pass.duration.forEach(function (value) { if (value > longest) { longest = value; } });
      pass.node.forEach(function (node, i) {
        var about = known.nodes[node] || ["", "", null, "other"];
        var row = make("tr", "tg-op");
        row.id = "pass=" + id + "&node=" + node;
        row.setAttribute("data-node", node);
        var head = make("th", "tg-n"), button = make("button", "", node);
        head.scope = "row";
        button.type = "button";
        button.setAttribute("aria-expanded", "false");
        button.setAttribute("aria-label", "operands of node " + node);
        head.appendChild(button);
        row.appendChild(head);
        cell(row, about[1], "tg-code");
        var op = make("td", "tg-code", about[0]);
        if (pass.note[i]) { op.appendChild(document.createTextNode(" ")); op.appendChild(make("small", "", pass.note[i])); }
        row.appendChild(op);
        cell(row, about[2] === null ? "" : String(about[2]), "tg-n");
        var component = make("td"), dot = make("i", "tg-dot");
        dot.setAttribute("data-group", state.groups[about[3]] || "other");
        component.appendChild(dot);
        component.appendChild(document.createTextNode(about[3]));
        row.appendChild(component);
        cell(row, fixed(pass.begin[i], 1e3, 1), "tg-n");
        cell(row, fixed(pass.duration[i], 1e3, 2), "tg-n", (pass.duration[i] || 0) / longest);
        ["work", "barrier", "wait"].forEach(function (name) { cell(row, fixed(pass[name][i], 1e3, 2), "tg-n"); });
        ["disk", "copied", "buffer"].forEach(function (name) { cell(row, fixed(pass[name][i], 1024, 1), "tg-n"); });
        cell(row, exact(pass.threads[i]), "tg-n");
        made.appendChild(row);
        var detail = make("tr", "tg-detail");
        detail.setAttribute("data-of", node);
        made.appendChild(detail);
      });
      return made;
    }

    function operands(id, node) {
      var pass = passes[id], known = placements[order[place[id]].placement];
      var list = (known && known.operands[node]) || [], box = make("td");
      box.colSpan = 14;
      if (!list.length || !pass) { box.textContent = "No operand was accessed."; return box; }
      var table = make("table"), head = make("tr"), rows = make("tbody");
      [["Operand"], ["Tensor"], ["Memory"], ["In"], ["Offset", "bytes"], ["Size", "bytes"], ["Touched", "bytes"], ["Used"]].forEach(function (title) {
        var made = make("th", title[1] ? "tg-n" : "", title[0]);
        made.scope = "col";
        if (title[1]) { made.appendChild(document.createTextNode(" ")); made.appendChild(make("small", "", title[1])); }
        head.appendChild(made);
      });
      list.forEach(function (o) {
        var own = pass.touched[node + "." + o[0]] || [o[7], ""], row = make("tr"), slot = make("th", "", o[0]);
        slot.scope = "row";
        row.appendChild(slot);
        cell(row, o[1], "tg-code");
        cell(row, o[2] === null ? "not recorded" : o[2]);
        cell(row, o[3] !== null ? state.files[o[3]] || "file " + o[3] : o[4] !== null ? "buffer " + o[4] : "—");
        [o[5], o[6], own[0]].forEach(function (value) { cell(row, exact(value), "tg-n"); });
        cell(row, own[1]);
        rows.appendChild(row);
      });
      table.appendChild(make("thead")).appendChild(head);
      table.appendChild(rows);
      box.appendChild(table);
      return box;
    }

    function mark(node) {
      Array.prototype.forEach.call(body.querySelectorAll(".tg-chosen"), function (row) { row.classList.remove("tg-chosen"); });
      var row = node === undefined ? null : body.querySelector('tr[data-node="' + node + '"]');
      if (!row) {
        if (node !== undefined) { part("status").textContent = "Pass " + shown + " lists no node " + node + "."; }
        return;
      }
      row.classList.add("tg-chosen");
      unfold(row, true);
      var scroller = body.parentNode.parentNode;
      scroller.scrollTop = row.offsetTop - scroller.clientHeight / 3;
      root.scrollIntoView({ block: "start" });
    }

    function unfold(row, open) {
      var detail = row.nextElementSibling;
      if (open && !detail.firstChild) { detail.appendChild(operands(shown, row.getAttribute("data-node"))); }
      detail.classList.toggle("tg-open", open);
      row.querySelector("button").setAttribute("aria-expanded", String(open));
    }

    function show(id, node) {
      wanted = id;
      if (id === shown) { part("status").textContent = ""; mark(node); return; }
      load(id, function () {
        if (wanted !== id) { return; }
        if (!passes[id]) { part("status").textContent = "The rows of pass " + id + " are missing."; return; }
        body.textContent = "";
        shown = id;
        body.appendChild(rows(id));
        part("label").textContent = order[place[id]].label;
        part("about").textContent = order[place[id]].about;
        part("status").textContent = "";
        controls();
        mark(node);
      });
    }

    function controls() {
      part("choose").value = String(shown);
      part("previous").disabled = place[shown] === 0;
      part("next").disabled = place[shown] === order.length - 1;
    }
    function go(id) {
      var node = body.querySelector(".tg-chosen"), hash = "#pass=" + id;
      if (node) { hash += "&node=" + node.getAttribute("data-node"); }
      history.replaceState(null, "", hash);
      show(id, node ? parseInt(node.getAttribute("data-node"), 10) : undefined);
    }
    function step(by) {
      var next = order[place[shown] + by];
      if (next) { go(next.id); }
    }
    function follow() {
      var to = address();
      if (to.pass === undefined) { return; }
      if (place[to.pass] === undefined) { part("status").textContent = "This run has no pass " + to.pass + " with operations."; return; }
      show(to.pass, to.node);
    }

    part("controls").hidden = false;
    part("choose").addEventListener("change", function (event) { go(parseInt(event.target.value, 10)); });
    part("previous").addEventListener("click", function () { step(-1); });
    part("next").addEventListener("click", function () { step(1); });
    body.addEventListener("click", function (event) {
      var row = event.target.closest("tr.tg-op");
      if (!row || !event.target.closest("button")) { return; }
      var open = row.querySelector("button").getAttribute("aria-expanded") !== "true";
      unfold(row, open);
      Array.prototype.forEach.call(body.querySelectorAll(".tg-chosen"), function (other) { other.classList.remove("tg-chosen"); });
      row.classList.add("tg-chosen");
      history.replaceState(null, "", "#pass=" + shown + "&node=" + row.getAttribute("data-node"));
    });
    document.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { return; }
      if (event.key === "n") { step(1); } else if (event.key === "p") { step(-1); }
    });
    window.addEventListener("hashchange", follow);
    controls();
    follow();
  }

  /* The graph: a node of any graph of a topology is found in the one drawing. */
  function graph(state) {
    function follow() {
      var match = /^#g(\d+)-n(\d+)$/.exec(location.hash);
      Array.prototype.forEach.call(document.querySelectorAll(".tg-graph .tg-chosen"), function (node) { node.classList.remove("tg-chosen"); });
      if (!match || state.lead[match[1]] === undefined) { return; }
      var found = document.getElementById("g" + state.lead[match[1]] + "-n" + match[2]);
      if (!found) { return; }
      var node = found.closest(".tg-node");
      node.classList.add("tg-chosen");
      node.scrollIntoView({ block: "center", inline: "center" });
    }
    /* A drawing wider than its frame begins where the block does. */
    Array.prototype.forEach.call(document.querySelectorAll(".tg-drawing"), function (frame) {
      var first = frame.querySelector(".tg-graph .tg-node");
      if (!first || frame.scrollWidth <= frame.clientWidth) { return; }
      var box = first.getBoundingClientRect(), edge = frame.getBoundingClientRect();
      frame.scrollLeft += box.left + box.width / 2 - edge.left - edge.width / 2;
    });
    window.addEventListener("hashchange", follow);
    follow();
  }

  function begin() {
    var state = stateOf("tg-operations");
    if (state) { operations(state); }
    state = stateOf("tg-graph");
    if (state) { graph(state); }
  }
  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", begin); } else { begin(); }
}());
