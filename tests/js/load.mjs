// The scripts of the pages in an engine without a page: classic scripts, one after the other, that share a global scope
// here as they share a function in the bundle. What a browser gives them is given by the test that needs it.
import {readFileSync} from "node:fs";
import vm from "node:vm";

const SCRIPTS = new URL("../../templates/assets/scripts/", import.meta.url);

// What pytest worked out in Python: the order of the scripts, and what they should say.
export const expected = JSON.parse(readFileSync(process.env.TRACEGEN_EXPECTED, "utf8"));

export function load(given = {}) {
  const context = vm.createContext({ atob, ...given });
  vm.runInContext("var window = this;", context);
  for (const name of expected.scripts) {
    if (name === "begin") { continue; } // it starts what belongs to a page
    const path = new URL(`${name}.js`, SCRIPTS);
    vm.runInContext(`"use strict"; ${readFileSync(path, "utf8")}`, context, { filename: path.pathname });
  }
  return context;
}

// Values of the other context as values of this one: their prototypes differ.
export function plain(value) {
  if (value instanceof Object || value === null || typeof value !== "object") { return value; }
  const kind = Object.prototype.toString.call(value);
  if (kind === "[object Map]") { return new Map(Array.from(value, ([key, one]) => [key, plain(one)])); }
  if (kind !== "[object Object]") { return Array.from(value, plain); }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

// The writer of packed numbers once more, number by number, from its description in pages/explorers/packing.py.
export function pack(numbers) {
  const bytes = [];
  for (const number of numbers) {
    let code = number === null ? 0n : number >= 0 ? 2n * BigInt(number) + 1n : -2n * BigInt(number);
    for (; code > 127n; code >>= 7n) { bytes.push(Number(code & 127n) + 128); }
    bytes.push(Number(code));
  }
  return Buffer.from(bytes).toString("base64");
}

// The gaps between numbers, the first from 0.
export function gaps(numbers) { return numbers.map((number, i) => number - (i ? numbers[i - 1] : 0)); }

// Whole numbers from 0 to n - 1, the same in every run.
export function dice(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}
