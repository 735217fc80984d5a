// Output: colours, follow, find, lines and their links, hostile text; stop. And the terminal.
import { readFileSync, writeFileSync } from "node:fs";
import { assert, api, begin, given, go, inside, noViolations, open, say, scenarios, until } from "./lib.mjs";

async function start(command, more = {}) {
  const r = await api("POST", "/v1/run", { command, background: true, ...more });
  assert(r.task_id, JSON.stringify(r));
  return r.task_id;
}
const ended = (id) => until(`${id} has ended`, async () => !(await api("GET", `/v1/tasks/${id}`)).running);
const log = (page, n) => page.waitForFunction((k) => document.querySelectorAll("nacre-log .out > div:not(.cut)").length >= k, n);
const text = (page) => page.$$eval("nacre-log .out > div:not(.cut)", (l) => l.map((d) => d.textContent));

scenarios({
  "colours, carriage returns and both streams": async () => {
    const id = await start("printf '\\033[31mred\\033[0m plain \\033[1;38;2;1;2;3mtrue\\033[0m\\n10%%\\r20%%\\r30%%\\n\\033[4munder\\033[0m <b>x</b>\\n'; echo wrong >&2", { output_mode: "separate" });
    await ended(id);
    const page = await inside(await open(), `#/tasks/${id}`);
    await log(page, 4);
    const lines = await text(page);
    assert.deepEqual(lines.slice().sort(), ["30%", "red plain true", "under <b>x</b>", "wrong"].sort());
    const colour = await page.$eval("nacre-log .out > div span[class^=s]", (s) => getComputedStyle(s).color);
    assert.equal(colour, "rgb(179, 38, 30)");
    await page.click("text=Errors");
    await page.waitForFunction(() => [...document.querySelectorAll("nacre-log .out > div:not(.cut)")].filter((d) => d.offsetParent).length === 1);
    await noViolations(page);
    await page.context().close();
  },

  "follow stops when one scrolls up, and goes on at the end": async () => {
    const id = await start("for i in $(seq 1 400); do echo line $i; done; while [ ! -e go-on ]; do sleep 0.1; done; for i in $(seq 401 800); do echo line $i; done");
    const page = await inside(await open(), `#/tasks/${id}`);
    await log(page, 400);
    const bottom = () => page.$eval("nacre-log .out", (o) => o.scrollHeight - o.clientHeight - o.scrollTop < 4);
    await until("it shows the end", bottom);
    await page.hover("nacre-log .out");
    await page.mouse.wheel(0, -600);
    await page.waitForFunction(() => !document.querySelector(".bar input").checked);
    const at = await page.$eval("nacre-log .out", (o) => o.scrollTop);
    writeFileSync(`${given.workspace}/go-on`, "");
    await log(page, 800);
    await until("nothing jumps", async () => Math.abs((await page.$eval("nacre-log .out", (o) => o.scrollTop)) - at) < 2);
    await page.click(".bar label:first-of-type");
    await until("it follows again", bottom);
    await page.context().close();
  },

  "find counts, and a link leads to a line": async () => {
    const id = await start("for i in $(seq 1 3000); do echo line $i; done");
    await ended(id);
    const page = await inside(await open({ permissions: ["clipboard-read", "clipboard-write"] }), `#/tasks/${id}`);
    await log(page, 3000);
    await page.click("text=Find");
    await page.keyboard.type("line 299");
    await page.waitForFunction(() => /^11 lines/.test(document.querySelector(".find [role=status]")?.textContent || ""));
    await page.click("nacre-log .out > div:nth-of-type(100) .n");
    await page.waitForFunction(() => /line=\d+/.test(location.hash));
    const hash = await page.evaluate(() => location.hash);
    const line = Number(/line=(\d+)/.exec(hash)[1]);
    await go(page, "#/approvals");
    await page.waitForSelector(".inbox, .empty-state");
    await go(page, hash);
    await page.waitForFunction((n) => document.querySelector("nacre-log .at .n")?.dataset.n === String(n), line);
    assert.equal(await page.$eval("nacre-log .at", (e) => {
      const r = e.getBoundingClientRect(), o = e.parentNode.getBoundingClientRect();
      return r.top >= o.top && r.bottom <= o.bottom;
    }), true);
    await page.context().close();
  },

  "100,000 lines: earlier ones come when one scrolls": async () => {
    const id = await start("seq 1 100000");
    await ended(id);
    const page = await inside(await open(), `#/tasks/${id}`);
    await page.waitForFunction(() => [...document.querySelectorAll("nacre-log .out > div:not(.cut)")].some((d) => d.textContent === "100000"));
    assert((await page.$$eval("nacre-log .out > div", (l) => l.length)) <= 5600);
    await page.$eval("nacre-log .out", (o) => (o.scrollTop = 0));
    await page.waitForFunction(() => [...document.querySelectorAll("nacre-log .out > div:not(.cut)")].some((d) => d.textContent === "94000"));
    for (const d of await page.$$eval("nacre-log .out > div:not(.cut)", (l) => l.map((x) => [x.querySelector(".n").dataset.n, x.textContent]))) assert.equal(d[0], d[1], "a number is not its line's");
    await go(page, `#/tasks/${id}?line=500`);
    await page.waitForFunction(() => document.querySelector("nacre-log .at")?.textContent === "500");
    await page.context().close();
  },

  "hostile text stays text": async () => {
    const evil = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202e\u200b\u0007";
    await api("POST", "/v1/run", { command: `echo '${evil}'`, description: evil, background: true });
    writeFileSync(`${given.workspace}/hostile`, Buffer.concat([Buffer.from(`${evil}\n\x1b]0;title${evil}\x07\x1b]52;c;aGk=\x07\x1b]8;;javascript:alert(3)\x1b\\link\x1b]8;;\x1b\\\n`), Buffer.alloc(300, 0x9b), Buffer.from("\n"),
      Buffer.alloc(1 << 20, "x"), Buffer.from("\n\x1b[38;5;196mno end"), Buffer.from([0xff, 0xfe, 0xc0, 0x0a]), Buffer.from("last line\n")]));
    const id = await start("cat hostile", { description: evil });
    await ended(id);
    const run = begin("run", "--profile", "workspace", "--approval-timeout", "1m", "--description", evil, "--json", "--", "touch", evil);
    const page = await inside(await open(), `#/tasks/${id}`);
    await page.waitForFunction(() => document.querySelector("nacre-log .out")?.textContent.includes("last line"));
    const all = (await text(page)).join("\n");
    assert(all.includes("<img src=x onerror=alert(1)>"));
    assert(all.includes("<U+202E>"), "a hidden character is not named");
    assert.equal(await page.$("nacre-log a[href^=javascript]"), null);
    assert.equal(await page.evaluate(() => document.querySelectorAll("#main img, #main script, #main iframe").length), 0);
    await go(page, "#/approvals");
    await page.waitForFunction(() => document.querySelector(".sheet .cmd")?.textContent.includes("<U+202E>"));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "the layout does not hold");
    for (const p of ["tasks", "sessions", "audit", "policy?line=" + encodeURIComponent(evil)]) {
      await go(page, `#/${p}`);
      await page.waitForSelector("h1");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `the layout of ${p} does not hold`);
    }
    await noViolations(page);
    for (const a of (await api("GET", "/v1/approvals")).approvals) await api("POST", `/v1/approvals/${a.id}`, { answer: "deny" });
    await run.ended;
    await page.context().close();
  },

  "stop asks first, and says what dies": async () => {
    const id = await start("sleep 300 & sleep 301");
    const page = await inside(await open(), `#/tasks/${id}`);
    await page.waitForSelector(".log .btn.no");
    await page.click("h1");
    await page.keyboard.press("x");
    await page.waitForSelector("dialog[open]");
    assert.match(await page.textContent("dialog h2"), /Stop/);
    await page.keyboard.press("Escape");
    assert.equal((await api("GET", `/v1/tasks/${id}`)).running, true);
    await page.waitForFunction(() => !document.querySelector("dialog"));
    await page.keyboard.press("x");
    await page.click("dialog .solid");
    await ended(id);
    await page.waitForFunction(() => !document.querySelector(".log .btn.no"));
    await page.context().close();
  },

  "vim is edited and saved through the page": async () => {
    const id = await start("vim.tiny -u NONE -n edited.txt", { pty: true });
    const page = await inside(await open(), `#/tasks/${id}?view=terminal`);
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent.includes("edited.txt"));
    await page.click(".screen-wrap");
    await page.keyboard.type("ihello from the page äß漢");
    await page.waitForFunction(() => document.querySelector(".screen").textContent.includes("hello from the page äß漢"));
    await page.setViewportSize({ width: 1000, height: 700 });
    await until("the terminal has the size of the window", async () => (await api("GET", `/v1/tasks/${id}/screen`)).cols < 100);
    await page.keyboard.press("Escape");
    await page.keyboard.type(":wq\n");
    await ended(id);
    assert.match(readFileSync(`${given.workspace}/edited.txt`, "utf8"), /^hello from the page äß漢/);
    await page.waitForFunction(() => /ended/.test(document.querySelector(".term-hint")?.textContent || ""));
    await page.context().close();
  },

  "10,000 keys arrive in order": async () => {
    const id = await start("stty -echo -icanon; echo ready; head -c 10000 > typed.txt; echo have it", { pty: true });
    const page = await inside(await open(), `#/tasks/${id}?view=terminal`);
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent.includes("ready"));
    await page.click(".screen-wrap");
    const keys = Array.from({ length: 10000 }, (_, i) => String.fromCharCode(97 + ((i * 7 + Math.floor(i / 26)) % 26))).join("");
    const at = Date.now();
    await page.evaluate((all) => {
      const input = document.querySelector(".keys-in");
      for (const key of all) input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }, keys);
    await ended(id);
    say(`10,000 keys took ${Date.now() - at} ms`);
    assert.equal(readFileSync(`${given.workspace}/typed.txt`, "utf8"), keys);
    await page.context().close();
  },

  "Escape twice leaves the terminal, and a paste keeps its lines": async () => {
    const id = await start("cat", { pty: true });
    const page = await inside(await open({ permissions: ["clipboard-read", "clipboard-write"] }), `#/tasks/${id}?view=terminal`);
    await page.waitForSelector(".screen > div");
    await page.click(".screen-wrap");
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "one\ntwo");
      document.querySelector(".keys-in").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await page.click("dialog .yes");
    await page.waitForFunction(() => /one.*two/.test(document.querySelector(".screen").textContent));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.className.includes("keys-in")), false);
    await api("POST", `/v1/tasks/${id}/stop`, { now: true });
    await page.context().close();
  },
});
