// The reader of coloured output: any text, cut anywhere, gives the same lines; nothing hides what follows it; work and memory are bounded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, LINE_MAX, readable, Sgr } from "../../web/sgr.js";
import { keyBytes, pasteBytes } from "../../web/keymap.js";
import { random } from "./random.mjs";

function read(text, cuts = []) {
  const lines = [];
  const s = new Sgr((line) => lines.push(line));
  let at = 0;
  for (const cut of [...cuts, text.length]) {
    s.push(text.slice(at, cut));
    at = cut;
  }
  s.end();
  return lines;
}
const texts = (text) => read(text).map((l) => l.text());
const style = (text) => read(text)[0].runs.at(-1)[1];
const E = "\x1b[";

test("colours and attributes", () => {
  assert.equal(style("plain"), null);
  assert.equal(style(`${E}31mx`).fg, 1);
  assert.equal(style(`${E}97;104mx`).fg, 15);
  assert.equal(style(`${E}97;104mx`).bg, 12);
  assert.equal(style(`${E}38;5;196mx`).fg, 196);
  assert.equal(style(`${E}38;2;1;2;3mx`).fg, "#010203");
  assert.equal(style(`${E}48:2::1:2:3mx`).bg, "#010203");
  assert.equal(style(`${E}38:5:7;1mx`).bold, true);
  assert.equal(style(`${E}4:0mx`), null);
  assert.equal(style(`${E}1;3;4;7;9mx`).strike, true);
  assert.equal(style(`${E}1m${E}22mx`), null);
  assert.equal(style(`${E}31m${E}mx`), null);
  assert.equal(style(`${E}38;5mx`), null);
  assert.equal(style(`${E}38;2;300;0;0mx`), null);
  assert.equal(style(`${E}8mhidden`).dim, true);
  assert.equal(read("a\x1b[1mb\x1b[22mc")[0].runs.length, 3);
});

test("what is written over, and what is erased", () => {
  assert.deepEqual(texts("10%\r20%\r100%\n"), ["100%"]);
  assert.deepEqual(texts("long text\rnew\n"), ["newg text"]);
  assert.deepEqual(texts(`long text\r${E}Knew\n`), ["new"]);
  assert.deepEqual(texts(`abc${E}2Kd\n`), ["   d"]);
  assert.deepEqual(texts(`abc\b\bX\n`), ["aXc"]);
  assert.deepEqual(texts(`abc${E}5Gx\n`), ["abc x"]);
  assert.deepEqual(texts(`a${E}1Kb`), [" b"]);
});

test("other sequences are left out, and end with their line", () => {
  assert.deepEqual(texts("a\x1b]0;title\x07b\x1b]8;;http\x1b\\c\x1bPq\x1b\\d"), ["abcd"]);
  assert.deepEqual(texts("a\x1b]0;never ends\nthis is seen\n"), ["a", "this is seen"]);
  assert.deepEqual(texts("a\x1b[12\nthis is seen\n"), ["a", "this is seen"]);
  assert.deepEqual(texts("\x1b(B\x1b=x\x1b[?25ly\x1b[2Jz"), ["xyz"]);
  assert.deepEqual(texts(`a\x1b[${"1;".repeat(500)}mb`)[0].startsWith("a"), true);
});

test("a long line is cut, and says by how much", () => {
  const [line] = read("x".repeat(1 << 20));
  assert.equal(line.length, LINE_MAX);
  assert.equal(line.cut, (1 << 20) - LINE_MAX);
});

test("redrawing a line in many colours is bounded work", () => {
  let text = "";
  for (let i = 0; i < LINE_MAX / 2; i++) text += `${E}${31 + (i % 7)}mxy`;
  for (let i = 0; i < 20000; i++) text += `\r${E}${31 + (i % 7)}mz`;
  const at = process.cpuUsage().user;
  read(text);
  assert(process.cpuUsage().user - at < 20e6, "too slow");
});

test("noise: no exception, the same in pieces, no control character is left in a run but those with a name", () => {
  const next = random(7);
  const words = ["\x1b[", "\x1b]", "\x1b", "m", "K", ";", ":", "38;2;", "31m", "\r", "\n", "\b", "\t", "\x07", "\x1b\\", "text", "漢", "😀", "\ud800", "\u202e", "\x9b", "0", "999999", "G", "C", "D"];
  for (let round = 0; round < 4000; round++) {
    const text = Array.from({ length: next(60) }, () => (next(5) ? words[next(words.length)] : String.fromCharCode(next(0x3000)))).join("");
    const whole = read(text).map((l) => [l.text(), l.cut]);
    const cuts = Array.from({ length: 4 }, () => next(text.length + 1)).sort((a, b) => a - b);
    assert.deepEqual(read(text, cuts).map((l) => [l.text(), l.cut]), whole);
    for (const [t] of whole) assert(!/[\n\r\x1b\b\0\x07]/.test(t), JSON.stringify(t));
    for (const l of read(text)) assert.equal(l.length, l.text().length);
  }
});

test("every colour can be read", () => {
  const next = random(3);
  for (let i = 0; i < 2000; i++) {
    const c = () => [next(256), next(256), next(256)];
    const ground = c();
    assert(contrast(readable(c(), ground), ground) >= 4.5);
  }
});

test("keys as xterm sends them", () => {
  const key = (k, more = {}) => keyBytes({ key: k, ...more });
  assert.equal(key("a"), "a");
  assert.equal(key("漢"), "漢");
  assert.equal(key("Enter"), "\r");
  assert.equal(key("Backspace"), "\x7f");
  assert.equal(key("c", { ctrlKey: true }), "\x03");
  assert.equal(key("[", { ctrlKey: true }), "\x1b");
  assert.equal(key("x", { altKey: true }), "\x1bx");
  assert.equal(key("ArrowUp"), "\x1b[A");
  assert.equal(keyBytes({ key: "ArrowUp" }, true), "\x1bOA");
  assert.equal(key("ArrowRight", { ctrlKey: true }), "\x1b[1;5C");
  assert.equal(key("F5"), "\x1b[15~");
  assert.equal(key("Delete"), "\x1b[3~");
  assert.equal(key("Tab", { shiftKey: true }), "\x1b[Z");
  assert.equal(key("Shift"), null);
  assert.equal(key("a", { metaKey: true }), null);
  assert.equal(pasteBytes("a\r\nb\nc\x1b[201~d\x03", true), "\x1b[200~a\rb\rc[201~d\x1b[201~");
});
