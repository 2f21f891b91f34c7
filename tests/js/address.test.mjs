// What stands behind the # of an address.
import assert from "node:assert/strict";
import {test} from "node:test";

import {load, plain} from "./load.mjs";

const location = {
  hash: ""
};
const page = load({ location });

function words(hash) {
  location.hash = hash;
  return plain(page.addressWords());
}
function numbers(hash) {
  location.hash = hash;
  return plain(page.address());
}

test("words of an address are decoded",
  () => { assert.deepEqual(words("#pass=3&q=a%20b%26c%3Dd&sort=-wall"), { pass: "3", q: "a b&c=d", sort: "-wall" }); });

test("what cannot be decoded is left out, the rest stays",
  () => { assert.deepEqual(words("#q=%E0%A4%A&pass=3"), { pass: "3" }); });

test("a part without a key or without a value's sign is not a word", () => {
  assert.deepEqual(words("#=3&tensor&&node="), { node: "" });
  assert.deepEqual(words(""), {});
});

test("only the first sign parts key and value", () => { assert.deepEqual(words("#q=a=b"), { q: "a=b" }); });

test("only whole numbers are numbers of an address", () => {
  assert.deepEqual(numbers("#pass=03&node=-1&tensor=1e3&file=0x1&offset=12&layer=1.5&q=&token=%31"), {
    pass: 3,
    offset: 12,
    token: 1,
  });
});

test("a hostile key is a word or nothing, and changes no object", () => {
  assert.deepEqual(words("#__proto__=1&constructor=2"), { constructor: "2" });
  assert.deepEqual([page.address().pass, Object.keys(page.address())], [undefined, ["constructor"]]);
});

test("a citation holds no markup of its form, whatever the address says", () => {
  const url = "https://e/(a)/#pass=7&z=}\\input{x}";
  const safe = "https://e/%28a%29/#pass=7&z=%7D%5Cinput%7Bx%7D";
  const a = { cited: "a@v1", question: "Why? 5 %", created: "2026-11-02T03:04:05Z" };
  const chosen = "tensor a_b %$<img src=x> [`*`]";
  assert.equal(page.citation("text", a, "", url, ""), `a@v1. ${safe}`);
  assert.equal(page.citation("Markdown", a, chosen, url, ""),
    `[a@v1, tensor a\\_b %$\\<img src=x\\> \\[\\\`\\*\\\`\\]](${safe})`);
  assert.equal(page.citation("LaTeX", a, chosen, url, ""),
    `\\cite[{tensor a\\_b \\%\\$<img src=x> [\`*\`]}]{a-v1} \\url{${safe}}`);
  const signs = "\\textbraceright{}\\textbackslash{}x\\textbraceleft{}\\textasciicircum{}\\textasciitilde{}";
  assert.equal(page.citation("LaTeX", a, "}\\x{^~", url, ""), `\\cite[{${signs}}]{a-v1} \\url{${safe}}`);
  const entry = page.citation("BibTeX", {...a, author: "A & B" }, "}{", url, "-fig-x");
  assert.ok(entry.startsWith("@misc{a-v1-fig-x,\n  author = {{A \\& B}},\n  title = {{Why? 5 \\%: \\textbraceright{}"));
  assert.ok(entry.includes("  version = {1},\n") && entry.includes(`  url = {${safe}},\n}`));
  assert.equal([...entry].filter((sign) => sign === "{").length, [...entry].filter((sign) => sign === "}").length);
  const [csl] = JSON.parse(page.citation("CSL-JSON", a, "", url, ""));
  assert.deepEqual([csl.id, csl.title, csl.issued, csl.URL],
    ["a@v1", "Why? 5 %", { "date-parts": [[2026, 11, 2]] }, safe]);
});
