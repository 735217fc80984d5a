// Who comes in: by a link, once; by a token; and what ends it. And who does not: pages of other ports, frames, forms, names.
import { createServer } from "node:http";
import { assert, DEADLINE, api, given, inside, link, nacre, open, request, say, scenarios, watch } from "./lib.mjs";

const isOut = (page) => page.waitForSelector("body.out .login");
const isIn = (page) => page.waitForSelector(".live.live", { state: "attached" });

/** Another server of this machine, as an agent may start one: whatever is asked of it gets HTML. */
async function otherPort(html) {
  const seen = [];
  const server = createServer((q, r) => {
    seen.push(q.headers);
    r.writeHead(200, { "Content-Type": "text/html" });
    r.end(html);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, seen, close: () => server.close() };
}

scenarios({
  "a link works once": async () => {
    const url = await link();
    const page = await open();
    await page.goto(url);
    await isIn(page);
    assert.equal(new URL(page.url()).hash.includes("in="), false, "the code stays in the address");
    await page.reload();
    await isIn(page);
    const other = await open();
    await other.goto(url);
    await isOut(other);
    assert.match(await other.textContent(".notice.bad"), /not good any more/);
    assert.match(await other.textContent(".copy-line"), /nacre console/);
    await page.context().close();
    await other.context().close();
  },

  "a token logs in, and log out ends it": async () => {
    const page = await open();
    await page.goto(given.url);
    await isOut(page);
    await page.fill("#token", "nacre_wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".notice.bad");
    await page.fill("#token", given.token);
    await page.keyboard.press("Enter");
    await isIn(page);
    assert.equal(await page.evaluate(() => document.cookie), "", "a script can read the cookie");
    const key = await page.evaluate(() => localStorage.getItem("nacre-page"));
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    await page.click("text=Log out");
    await isOut(page);
    const again = await request("GET", "/v1/me", { headers: { Cookie: `${cookie.name}=${cookie.value}`, "Nacre-Page": key } });
    assert.equal(again.status, 401);
    await page.context().close();
  },

  "a revoked token ends the page": async () => {
    const made = await nacre("token", "create", "passing", "--approve");
    assert.equal(made.code, 0, made.err);
    const page = await open();
    await page.goto(given.url);
    await page.fill("#token", made.out.trim());
    await page.keyboard.press("Enter");
    await isIn(page);
    await nacre("token", "revoke", "passing");
    const at = Date.now();
    await isOut(page);
    say(`the page ended ${Date.now() - at} ms after the revocation`);
    await page.context().close();
  },

  "tabs share one stream and one login": async () => {
    const page = await inside(await open(), "#/tasks");
    const second = await page.context().newPage();
    watch(second);
    await second.goto(given.url + "/#/tasks");
    await isIn(second);
    await api("POST", "/v1/run", { command: "echo for both tabs", background: true });
    await page.bringToFront();
    for (const p of [page, second]) await p.waitForFunction(() => document.querySelectorAll(".task").length > 0);
    const leads = await Promise.all([page, second].map((p) => p.evaluate(() => navigator.locks.query().then((q) => q.held.length + q.pending.length))));
    assert.deepEqual(leads, [2, 2], "each tab holds the lock or waits for it");
    await page.close(); // the one that led
    await second.bringToFront();
    const before = await second.$$eval(".task", (l) => l.length);
    await api("POST", "/v1/run", { command: "echo for the second", background: true });
    await second.waitForFunction((n) => document.querySelectorAll(".task").length > n, before);
    await second.click("text=Log out");
    await isOut(second);
    await second.context().close();
  },

  "half of a login opens nothing": async () => {
    const page = await inside(await open());
    const [c] = await page.context().cookies();
    const Cookie = `${c.name}=${c.value}`;
    const key = await page.evaluate(() => localStorage.getItem("nacre-page"));
    const before = (await api("GET", "/v1/audit?limit=1")).records[0]?.seq;
    const body = JSON.stringify({ command: "touch never" });
    const tries = [
      ["the cookie alone", 401, { Cookie }],
      ["the key alone", 401, { "Nacre-Page": key }],
      ["a wrong key", 401, { Cookie, "Nacre-Page": key.replace(/./, (x) => (x === "A" ? "B" : "A")) }],
      ["another origin", 403, { Cookie, "Nacre-Page": key, Origin: "http://127.0.0.1:1" }],
      ["another site", 403, { Cookie, "Nacre-Page": key, "Sec-Fetch-Site": "same-site" }],
    ];
    for (const [what, status, headers] of tries) {
      const answer = await request("POST", "/v1/run", { headers, body });
      assert.equal(answer.status, status, what);
    }
    assert.equal((await request("POST", "/v1/run", { headers: { Cookie, "Nacre-Page": key }, body, host: "evil.test" })).status, 403, "another name");
    assert.equal((await request("GET", "/", { host: "evil.test:" + new URL(given.url).port })).status, 403, "the page under another name");
    assert.equal((await api("GET", "/v1/audit?limit=1")).records[0]?.seq, before, "the audit log is not silent");
    await page.context().close();
  },

  "a page of another port reaches nothing": async () => {
    const page = await inside(await open({ allowProblems: true }));
    const before = (await api("GET", "/v1/audit?limit=1")).records[0]?.seq;
    const approvalsBefore = (await api("GET", "/v1/approvals?all=1")).approvals.length;
    const other = await otherPort(`<!doctype html><title>other</title><iframe id="frame" src="${given.url}/"></iframe>
      <form id="form" method="post" enctype="text/plain" target="into" action="${given.url}/v1/run"><input name='{"command":"touch never","x":"' value='"}'></form><iframe name="into"></iframe>`);
    const evil = await page.context().newPage();
    await evil.goto(other.url);
    const found = await evil.evaluate(async (url) => {
      const out = {};
      const tried = async (name, fn) => {
        try {
          out[name] = await fn();
        } catch (e) {
          out[name] = `error ${e.name}`;
        }
      };
      const json = { method: "POST", headers: { "Content-Type": "application/json" }, credentials: "include", body: JSON.stringify({ command: "touch never" }) };
      await tried("fetch", async () => (await fetch(url + "/v1/run", json)).status);
      await tried("no-cors", async () => (await fetch(url + "/v1/run", { method: "POST", mode: "no-cors", credentials: "include", body: "{\"command\":\"touch never\"}" })).type);
      await tried("image", () => new Promise((resolve) => {
        const i = new Image();
        i.onload = () => resolve("loaded");
        i.onerror = () => resolve("refused");
        i.src = url + "/v1/tasks";
      }));
      await tried("script", () => new Promise((resolve) => {
        const s = document.createElement("script");
        s.onload = () => resolve("loaded");
        s.onerror = () => resolve("refused");
        s.src = url + "/v1/tasks";
        document.head.append(s);
      }));
      await tried("socket", () => new Promise((resolve) => {
        const w = new WebSocket(url.replace("http", "ws") + "/v1/events");
        w.onopen = () => resolve("open");
        w.onerror = () => resolve("refused");
      }));
      await tried("key", async () => localStorage.getItem("nacre-page"));
      document.getElementById("form").submit();
      await new Promise((resolve) => setTimeout(resolve, 500));
      try {
        out.frame = document.getElementById("frame").contentDocument === null ? "closed" : "readable";
      } catch {
        out.frame = "closed";
      }
      return out;
    }, given.url);
    assert.deepEqual(found, { fetch: "error TypeError", "no-cors": "error TypeError", image: "refused", script: "refused", socket: "refused", key: null, frame: "closed" });
    const frame = evil.frames().find((f) => f.parentFrame() && f.name() !== "into");
    assert.equal(await frame.evaluate(() => document.querySelector(".login, nav")).catch(() => null), null, "the page shows in a frame");
    assert.equal((await api("GET", "/v1/audit?limit=1")).records[0]?.seq, before, "something was recorded: something was tried");
    assert.equal((await api("GET", "/v1/approvals?all=1")).approvals.length, approvalsBefore);
    other.close();
    await page.context().close();
  },

  "an old link does not work": async () => {
    if (!given.full) return;
    const url = await link();
    await new Promise((resolve) => setTimeout(resolve, 121000)); // what is measured is this time itself
    const page = await open();
    await page.goto(url);
    await isOut(page);
    await page.waitForSelector(".notice.bad", { timeout: DEADLINE });
    await page.context().close();
  },
});
