// What the scenarios share: a browser, a page that is logged in, nacre itself, and waiting with a deadline.
//
// A scenario gets one JSON object on its command line: {url, nacre, deadline (ms), token, chromium}. It prints what it has seen, one line
// each, and ends with 0; a failed assertion ends it with another code, and its words go to standard error.
import { spawn } from "node:child_process";
import assert from "node:assert/strict";
import http from "node:http";
import { chromium } from "playwright-core";

export { assert };
export const given = JSON.parse(process.argv[2]);
export const DEADLINE = given.deadline;
const began = Date.now();

export function say(text) {
  console.log(`${((Date.now() - began) / 1000).toFixed(1)} ${text}`);
}

export async function until(what, fn, ms = DEADLINE) {
  const end = Date.now() + ms;
  for (;;) {
    let last;
    try {
      const found = await fn();
      if (found) return found;
      last = found;
    } catch (error) {
      last = error;
      if (Date.now() > end) throw error;
    }
    assert(Date.now() < end, `not within ${ms} ms: ${what} (${last})`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs nacre; {code, out, err}. */
export function nacre(...args) {
  return begin(...args).ended;
}

const children = new Set();

export function begin(...args) {
  const child = spawn(given.nacre, args, { stdio: ["ignore", "pipe", "pipe"], cwd: given.workspace });
  let out = "", err = "";
  children.add(child);
  child.stdout.setEncoding("utf8").on("data", (d) => (out += d));
  child.stderr.setEncoding("utf8").on("data", (d) => (err += d));
  child.ended = new Promise((resolve) => child.on("close", (code) => {
    children.delete(child);
    resolve({ code, out, err });
  }));
  child.text = () => out;
  return child;
}

/** A request of another program than the browser: {status, headers, text, json}. */
export function request(method, path, { headers = {}, body, url = given.url, host } = {}) {
  const to = new URL(path, url);
  return new Promise((resolve, reject) => {
    const r = http.request({ host: to.hostname, port: to.port, path: to.pathname + to.search, method,
      headers: { Host: host || to.host, ...(body ? { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } : {}), ...headers } }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (d) => (text += d)).on("end", () => {
        let json = null;
        try {
          json = JSON.parse(text);
        } catch { /* not every answer is one */ }
        resolve({ status: answer.statusCode, headers: answer.headers, text, json });
      });
    });
    r.on("error", reject);
    r.setTimeout(DEADLINE, () => r.destroy(new Error("no answer")));
    r.end(body);
  });
}

/** With the rights of the token. */
export async function api(method, path, body) {
  const answer = await request(method, path, { headers: { Authorization: `Bearer ${given.token}` }, body: body && JSON.stringify(body) });
  assert(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}

export async function link() {
  return (await api("POST", "/v1/console/link", {})).url;
}

let browser = null;
const problems = [];

/** Chromium without any network but the loopback. */
export async function open({ width = 1280, height = 860, theme = "light", phone = false, permissions, allowProblems = false } = {}) {
  browser ||= await chromium.launch({ executablePath: given.chromium,
    args: ["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE evil.test", "--js-flags=--expose-gc", "--enable-precise-memory-info"] });
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", hasTouch: phone, isMobile: phone, permissions, timezoneId: "UTC" });
  context.setDefaultTimeout(DEADLINE);
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
  });
  const page = await context.newPage();
  watch(page, allowProblems);
  return page;
}

export function watch(page, allowProblems = false) {
  page.on("dialog", (d) => {
    problems.push(`a dialog: ${d.message()}`);
    d.dismiss();
  });
  page.on("pageerror", (e) => problems.push(`an error in the page: ${e.stack}`));
  page.on("console", (m) => {
    if (m.type() === "error" && !allowProblems && !/Failed to load resource|ERR_/.test(m.text())) problems.push(`the console says: ${m.text()}`);
  });
  page.on("request", (r) => {
    const u = new URL(r.url());
    if (!["127.0.0.1", "localhost"].includes(u.hostname) && u.protocol.startsWith("http")) problems.push(`a request to ${r.url()}`);
  });
}

export async function inside(page, hash = "") {
  await page.goto(await link());
  await page.waitForSelector("#side nav", { state: "attached" });
  await page.waitForSelector(".live.live", { state: "attached" });
  if (hash) await go(page, hash);
  return page;
}

export async function go(page, hash) {
  await page.evaluate((h) => {
    location.hash = h;
  }, hash);
}

export async function noViolations(page) {
  assert.deepEqual(await page.evaluate(() => window.violations), []);
}

/** Ends everything; what the pages complained about fails the scenario. */
export async function done() {
  for (const child of children) child.kill("SIGTERM");
  await browser?.close();
  assert.deepEqual(problems, []);
}

/** The scenarios of one file, by name; the one that is wanted runs, or all. */
export async function scenarios(all) {
  try {
    for (const [name, run] of Object.entries(all)) {
      if (given.only && !given.only.includes(name)) continue;
      say(`-- ${name}`);
      await run();
    }
    await done();
  } catch (error) {
    console.error(error.stack || error);
    for (const p of problems) console.error(p);
    for (const context of browser?.contexts() || []) for (const page of context.pages()) {
      console.error(page.url(), (await page.evaluate(() => document.body.innerText).catch(() => "")).slice(0, 1500));
      if (given.shots) await page.screenshot({ path: `${given.shots}/failed-${Date.now()}.png` }).catch(() => {});
    }
    for (const child of children) child.kill("SIGTERM");
    await browser?.close().catch(() => {});
    process.exit(1);
  }
  process.exit(0);
}
