// The parser of the stream: any bytes, cut anywhere, give the same events and no exception.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../../web/events.js";
import { random } from "./random.mjs";

function parse(bytes, cuts) {
  const events = [];
  const p = new EventParser((e) => events.push(e));
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    p.push(bytes.subarray(at, cut));
    at = cut;
  }
  return events;
}
const bytes = (text) => new TextEncoder().encode(text);

test("fields, comments, ends of lines of each kind", () => {
  const text = "\ufeff: a comment\r\nevent: task\r\nid: 7\r\ndata: {\"a\":1}\r\n\r\ndata:one\ndata: two\n\nevent: nothing\n\ndata\rid: x\0y\r\rid: 8\ndata:  two spaces\n\n";
  assert.deepEqual(parse(bytes(text), []), [
    { type: "task", id: "7", data: "{\"a\":1}" }, { type: "message", id: "7", data: "one\ntwo" },
    { type: "message", id: "7", data: "" }, { type: "message", id: "8", data: " two spaces" }]);
});

test("it does not matter where the pieces end", () => {
  const all = bytes("event: output\r\nid: 12\r\ndata: {\"text\":\"äß漢😀\"}\r\n\r\n: ping\r\n\r\ndata: b\r\n\r\n");
  const whole = parse(all, []);
  assert.equal(whole.length, 2);
  for (let a = 0; a <= all.length; a++) for (let b = a; b <= all.length; b++) assert.deepEqual(parse(all, [a, b]), whole, `${a} ${b}`);
});

test("noise gives no exception, and the same in pieces", () => {
  const next = random(20);
  const words = ["data:", "event:", "id:", ":", "\n", "\r", "\r\n", "\n\n", " ", "x", "\0", "{}", "retry: 1"].map(bytes);
  for (let round = 0; round < 3000; round++) {
    const parts = Array.from({ length: next(40) }, () => (next(4) ? words[next(words.length)] : Uint8Array.from({ length: next(6) }, () => next(256))));
    const all = Uint8Array.from(parts.flatMap((p) => [...p]));
    const whole = parse(all, []);
    const cuts = Array.from({ length: 5 }, () => next(all.length + 1)).sort((a, b) => a - b);
    assert.deepEqual(parse(all, cuts), whole);
  }
});

test("an event without an end is refused, not kept", () => {
  const p = new EventParser(() => {});
  const piece = new Uint8Array(1 << 20).fill(120);
  assert.throws(() => {
    for (let i = 0; i < 20; i++) p.push(piece);
  }, RangeError);
});
