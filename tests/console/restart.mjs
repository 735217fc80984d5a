// What survives: a server that is killed and comes back, a flood that is followed, a list of a thousand tasks, an idle page.
import { readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { api, assert, given, inside, noViolations, open, say, scenarios, until, watch } from "./lib.mjs";

const log = (page, text) => page.waitForFunction((t) => [...document.querySelectorAll("nacre-log .out > div:not(.cut)")].some((d) => d.textContent === t), text);
const start = async (command, more) => (await api("POST", "/v1/run", { command, background: true, ...more })).task_id;

let server = given.server; // its process; Python has started the first one

/** The same server on the same port again, as a service manager would start it. */
async function restart() {
  process.kill(server.pid, "SIGKILL");
  await until("the server is gone", () => {
    try {
      return /State:\tZ/.test(readFileSync(`/proc/${server.pid}/status`, "utf8"));
    } catch {
      return true;
    }
  });
  const again = spawn(given.nacre, server.args, { stdio: "ignore", cwd: given.workspace });
  process.on("exit", () => again.kill("SIGTERM"));
  server = { ...server, pid: again.pid };
}

const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) * 1024;
function cpu() {
  const f = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(f[11]) + Number(f[12])) * 10;
}
const heap = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
};

scenarios({
  "a thousand tasks: the first paint": async () => {
    const n = given.full ? 1000 : 120;
    const line = "true";
    for (let i = 0; i < n; i += 20) await Promise.all(Array.from({ length: 20 }, () => api("POST", "/v1/run", { command: line, background: true })));
    const page = await inside(await open(), "#/tasks");
    await page.reload();
    await page.waitForSelector(".task");
    const times = [];
    for (let i = 0; i < 3; i++) {
      await page.reload();
      await page.waitForSelector(".task");
      times.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    }
    say(`first paint with ${n} tasks: ${times.map((t) => t.toFixed(0)).join(", ")} ms`);
    assert(Math.min(...times) < 200 * given.slack, `${times}`);
    await page.context().close();
  },

  "the server is killed and comes back: no line lost, none twice": async () => {
    const id = await start("for i in $(seq 1 300); do echo line $i; sleep 0.02; done; echo last");
    const page = await inside(await open({ allowProblems: true }), `#/tasks/${id}`);
    await log(page, "line 20");
    await restart();
    await page.waitForSelector(".notice-bar.bad");
    assert.match(await page.textContent(".notice-bar.bad"), /Not connected since/);
    await page.waitForFunction(() => !document.querySelector(".notice-bar"));
    await log(page, "last");
    const lines = await page.$$eval("nacre-log .out > div:not(.cut)", (l) => l.map((d) => d.textContent));
    assert.deepEqual(lines, [...Array.from({ length: 300 }, (_, i) => `line ${i + 1}`), "last"]);
    await page.context().close();
  },

  "a flood is followed by three tabs": async () => {
    const mega = given.full ? 100 : 8;
    const before = memory();
    const id = await start(`sleep 1; head -c ${mega * 1000000} /dev/zero | tr '\\0' x | fold -w 99; echo; echo the end`, { timeout_ms: 300000 });
    const page = await inside(await open(), `#/tasks/${id}`);
    const pages = [page];
    for (let i = 0; i < 2; i++) {
      const p = await page.context().newPage();
      watch(p);
      await p.goto(`${given.url}/#/tasks/${id}`);
      pages.push(p);
    }
    let high = 0;
    for (const p of pages) {
      await p.bringToFront();
      await until("it has the end", async () => {
        high = Math.max(high, memory());
        return p.evaluate(() => document.querySelector("nacre-log .out")?.textContent.includes("the end"));
      }, 20 * given.deadline);
    }
    const heaps = await Promise.all(pages.map(heap));
    say(`${mega} MB: server ${(before / 1e6).toFixed(0)} -> at most ${(high / 1e6).toFixed(0)} MB; heaps of the tabs ${heaps.map((h) => (h / 1e6).toFixed(0)).join(", ")} MB`);
    for (const h of heaps) assert(h < 150e6);
    assert(high - before < 48e6, `the server has grown by ${high - before}`);
    for (const p of pages) assert((await p.$$eval("nacre-log .out > div", (l) => l.length)) < 5600);
    await noViolations(page);
    await page.context().close();
  },

  "an idle page costs nothing": async () => {
    const page = await inside(await open(), "#/approvals");
    await page.waitForSelector(".inbox, .empty-state");
    await new Promise((r) => setTimeout(r, 1000));
    const before = cpu();
    const seconds = given.full ? 20 : 4;
    await new Promise((r) => setTimeout(r, seconds * 1000)); // the time in which nothing happens is what is measured
    const used = cpu() - before;
    say(`${used} ms of processor time in ${seconds} s`);
    assert(used <= 10 * seconds, `${used} ms`);
    await page.context().close();
  },
});
