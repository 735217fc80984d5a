// How every page looks: nothing that axe-core finds, no violation of the policy, no request elsewhere, the size of the layout; and
// with TAKE pictures of the pages for docs/pictures.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { api, assert, begin, given, go, inside, noViolations, open, say, scenarios, until } from "./lib.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PICTURES = new Map([["approvals 1280 light", "approvals"], ["approvals 1280 dark", "approvals-dark"], ["approvals 390 light", "approvals-phone"], ["tasks/one 1280 dark", "tasks-dark"],
  ["tasks/one 1280 light", "tasks"], ["policy 1280 light", "policy"], ["audit 390 dark", "audit-phone-dark"]]);
const PAGES = ["approvals", "tasks", "sessions", "audit", "policy?line=git+push+--force+%26%26+rm+-rf+build&profile=bash", "metrics", "doctor"];

/** A day of an agent: what the pictures show. */
const runs = [];
async function day() {
  if (runs.length) return;
  for (const [name, words, more] of [
    ["Fix the rounding of VAT", ["touch", "src/vat.ts"], []],
    ["Publish the hotfix", ["git", "push", "--force", "origin", "main"], []],
  ]) runs.push(begin("run", "--profile", "workspace", "--approval-timeout", "5m", "--session", "checkout-fix", "--description", name, ...more, "--json", "--", ...words));
  const shell = (command, more) => api("POST", "/v1/run", { command, background: true, ...more });
  const e = "\\033[";
  await shell(`printf ' ${e}32m✓${e}0m src/cart/${e}1mtotal.test.ts${e}0m > adds lines ${e}2m3ms${e}0m\\n ${e}31;1m✗${e}0m src/tax/${e}1mvat.test.ts${e}0m > ${e}31mkeeps the reduced rate${e}0m ${e}2m7ms${e}0m\\n   ${e}31mAssertionError: expected 7.00 to be 7.01${e}0m\\n     ${e}2mat${e}0m src/tax/vat.test.ts:${e}33m88${e}0m:${e}33m24${e}0m\\n'; exit 1`, { description: "Run the tests" });
  await shell("ls -la");
  await shell("seq 1 40");
  await until("all have ended", async () => !(await api("GET", "/v1/tasks")).tasks.some((t) => t.running));
  await shell("echo serving; sleep 600", { description: "The development server" });
  await shell("vim.tiny -u NONE -n vat.ts", { pty: true });
  await until("both questions are there", async () => (await api("GET", "/v1/approvals")).approvals.length >= 2);
}

async function settle(page) {
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && document.querySelector("h1"));
  await page.waitForFunction(() => !document.querySelector(".acts.early"));
  await page.evaluate(() => document.fonts.ready);
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
}

async function checkAxe(page, what) {
  const found = await page.evaluate(async () => {
    const r = await window.axe.run(document, { resultTypes: ["violations"] });
    return r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join("; ").slice(0, 200)}`).join(" | ")}`);
  });
  assert.deepEqual(found, [], `axe-core on ${what}`);
}

async function all(theme, width, height, phone) {
  await day();
  const page = await open({ theme, width, height, phone });
  await page.goto(given.url);
  await page.waitForSelector(".login");
  await page.evaluate(axe);
  await checkAxe(page, `login, ${theme}, ${width}`);
  await inside(page);
  await page.evaluate(axe);
  const tasks = (await api("GET", "/v1/tasks")).tasks;
  const failed = tasks.find((t) => t.state === "failed"), vim = tasks.find((t) => t.terminal && t.running);
  for (const p of [...PAGES, `tasks/${failed.task_id}`, `tasks/${vim.task_id}?view=terminal`, `tasks/${failed.task_id}?view=record`]) {
    await go(page, `#/${p}`);
    await settle(page);
    assert.equal(await page.$$eval("h1", (l) => l.length), 1, `${p} has one h1`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${p} is wider than ${width}`);
    await checkAxe(page, `${p}, ${theme}, ${width}`);
    const picture = PICTURES.get(`${p.replace(/\?.*/, "").replace(/\/.*/, p.includes("view=") ? "/view" : "/one")} ${width} ${theme}`);
    if (given.take && picture) await page.screenshot({ path: `${given.pictures}/${picture}.png`, animations: "disabled", caret: "hide" });
    if (given.shots) await page.screenshot({ path: `${given.shots}/look-${p.replace(/[^a-z].*/, "")}-${p.includes("view=") ? p.split("view=")[1] : p.includes("tasks/") ? "one" : "all"}-${width}-${theme}.png` });
  }
  if (phone) {
    await go(page, "#/approvals");
    await settle(page);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, a[href], select")].filter((e) => e.offsetParent && !e.closest(".out, .skip, .rule") && e.getBoundingClientRect().height < 43).map((e) => e.outerHTML.slice(0, 120)));
    assert.deepEqual(small, [], "targets of less than 44 px");
  }
  await noViolations(page);
  await page.context().close();
}

async function keyboardOnly() {
  const run = begin("run", "--profile", "workspace", "--approval-timeout", "2m", "--json", "--", "touch", "by-keys");
  const { task_id: id } = await api("POST", "/v1/run", { command: "sleep 300", background: true });
  const page = await inside(await open());
  await page.keyboard.press("1");
  await page.waitForFunction(() => document.querySelector(".sheet .cmd"));
  for (let i = 0; i < 8 && !(await page.textContent(".sheet .cmd")).includes("by-keys"); i++) {
    await page.keyboard.press("j");
    await settle(page);
  }
  await page.waitForFunction(() => document.querySelector(".sheet .cmd").textContent.includes("by-keys") && !document.querySelector(".acts.early") && !document.querySelector(".acts .yes").disabled);
  await page.keyboard.press("e");
  await page.waitForSelector(".details");
  await settle(page); // what moved the answers gives them 600 ms of rest
  await page.keyboard.press("a");
  assert.equal((await run.ended).code, 0);
  await page.keyboard.press("2");
  await page.waitForSelector(".task");
  await page.keyboard.press("/");
  await page.keyboard.type("sleep 300");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelectorAll(".task").length === 1);
  await page.keyboard.press("j");
  await page.waitForFunction((t) => location.hash.includes(t), id);
  await page.keyboard.press("x");
  await page.waitForSelector("dialog[open]");
  for (let i = 0; i < 5 && (await page.evaluate(() => document.activeElement.textContent)) !== "Stop"; i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("it has ended", async () => !(await api("GET", `/v1/tasks/${id}`)).running);
  await page.keyboard.press("?");
  await page.waitForSelector("dialog .key-list");
  await page.keyboard.press("Escape");
  await page.context().close();
}

scenarios({
  "light, 1280": () => all("light", 1280, 860),
  "dark, 390": () => all("dark", 390, 844, true),
  "dark, 1280": () => all("dark", 1280, 860),
  "light, 390": () => all("light", 390, 844, true),
  "by keys alone": keyboardOnly,
});
