// Questions: they appear at once, a key answers exactly what is shown, and nothing is answered by accident.
import { api, assert, begin, go, inside, nacre, noViolations, open, say, scenarios, until } from "./lib.mjs";

const ASKED = ["--profile", "workspace", "--approval-timeout", "2m", "--json", "--"];
const ask = (...words) => begin("run", ...ASKED, ...words);
const openOnes = async () => (await api("GET", "/v1/approvals")).approvals.filter((a) => a.state === "open");

async function shown(page, text) {
  await page.waitForFunction((t) => document.querySelector(".sheet .cmd")?.textContent.includes(t) && document.querySelector(".acts"), text);
}

/** The 600 ms of rest, and the end of the command in view. */
async function rested(page) {
  await page.waitForFunction(() => document.querySelector(".acts:not(.early)") && !document.querySelector(".acts .yes")?.disabled);
}

scenarios({
  "a key approves exactly what is shown": async () => {
    const page = await inside(await open(), "#/approvals");
    await page.waitForSelector(".empty-state");
    const run = ask("touch", "made-by-approval");
    await shown(page, "made-by-approval");
    assert.equal(await page.textContent("h1"), "1 command waits for you");
    assert.match(await page.title(), /^\(1\)/);
    await rested(page);
    const pressed = Date.now();
    await page.keyboard.press("a");
    const { code } = await run.ended;
    assert.equal(code, 0);
    say(`the command had ended ${Date.now() - pressed} ms after the key`);
    const a = (await api("GET", "/v1/approvals?all=1")).approvals.find((x) => x.command.includes("made-by-approval"));
    assert.equal(a.answer, "once");
    assert.match(a.answered_by, /tester/);
    await page.context().close();
  },

  "nothing is answered within 600 ms": async () => {
    const page = await inside(await open(), "#/approvals");
    const run = ask("touch", "too-early");
    await shown(page, "too-early");
    // As fast as the browser can: in the frame in which the question appeared.
    const during = await page.evaluate(() => {
      const early = document.querySelector(".acts").classList.contains("early");
      if (early) document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
      return early;
    });
    if (!during) {
      // The moment has passed: begin it again by a change of what is shown.
      await go(page, "#/tasks");
      await go(page, "#/approvals");
    }
    await page.evaluate(() => new Promise((resolve) => {
      location.hash = "#/tasks";
      setTimeout(() => {
        location.hash = "#/approvals";
        setTimeout(() => {
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
          const yes = document.querySelector(".acts .yes");
          yes.click();
          resolve();
        }, 60);
      }, 60);
    }));
    assert.equal((await openOnes()).length, 1, "an early key has answered");
    await rested(page);
    await page.keyboard.press("a");
    assert.equal((await run.ended).code, 0);
    await page.context().close();
  },

  "a reason reaches the one who asked": async () => {
    const page = await inside(await open(), "#/approvals");
    const run = ask("touch", "to-be-denied");
    await shown(page, "to-be-denied");
    await rested(page);
    await page.keyboard.press("d");
    await page.waitForFunction(() => document.activeElement?.id === "reason");
    await page.keyboard.type("a reason with keys: a s d");
    await page.keyboard.press("Enter");
    const { code, out } = await run.ended;
    assert.equal(code, 126);
    assert.match(out, /a reason with keys: a s d/);
    await page.context().close();
  },

  "answered elsewhere closes the sheet": async () => {
    const page = await inside(await open(), "#/approvals");
    const run = ask("touch", "by-the-command-line");
    await shown(page, "by-the-command-line");
    const [a] = await openOnes();
    const { code, err } = await nacre("approve", a.id);
    assert.equal(code, 0, err);
    await page.waitForSelector(".acts.over");
    assert.match(await page.textContent(".acts.over"), /Approved once/);
    assert.equal(await page.$(".acts .yes:not([disabled]).btn kbd"), null);
    assert.equal((await run.ended).code, 0);
    await page.context().close();
  },

  "high risk wants the key twice, or a long press": async () => {
    const page = await inside(await open(), "#/approvals");
    const line = (n) => ["git", "push", "--force", "origin", `branch-${n}`];
    const first = ask(...line(1));
    await shown(page, "branch-1");
    await rested(page);
    assert.match(await page.textContent(".sheet header .tag"), /High risk/);
    await page.keyboard.press("a");
    await page.waitForSelector(".btn.armed");
    assert.equal((await openOnes()).length, 1, "one key was enough");
    await page.keyboard.press("a");
    await until("the question is answered", async () => (await openOnes()).length === 0);
    await first.ended;
    const second = ask(...line(2));
    await shown(page, "branch-2");
    await rested(page);
    await page.click(".acts .yes");
    assert.equal((await openOnes()).length, 1, "a short press was enough");
    await rested(page);
    const box = await (await page.$(".acts .yes")).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await until("a long press has answered", async () => (await openOnes()).length === 0);
    await page.mouse.up();
    await second.ended;
    await page.context().close();
  },

  "from a phone, with a thumb": async () => {
    const page = await inside(await open({ width: 390, height: 844, phone: true }), "#/approvals");
    const run = ask("touch", "by-a-thumb");
    await shown(page, "by-a-thumb");
    await rested(page);
    const box = await (await page.$(".acts .yes")).boundingBox();
    assert(box.height >= 44 && box.y > 500, `the button is at ${JSON.stringify(box)}`);
    await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    assert.equal((await run.ended).code, 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "the page is wider than the phone");
    await page.context().close();
  },

  "a long command must be seen to its end": async () => {
    const page = await inside(await open({ height: 600 }), "#/approvals");
    const run = begin("run", "--profile", "workspace", "--approval-timeout", "2m", "--json", "--", "touch", ...Array.from({ length: 200 }, (_, i) => `a-file-with-a-long-name-${i}`));
    await shown(page, "a-file-with-a-long-name-1");
    await page.waitForFunction(() => document.querySelector(".acts:not(.early)"));
    assert.equal(await page.$eval(".acts .yes", (b) => b.disabled), true);
    await page.keyboard.press("a");
    assert.equal((await openOnes()).length, 1);
    const unfold = await page.$(".unfold");
    if (unfold) await unfold.click();
    await page.$eval("nacre-seen", (e) => e.scrollIntoView());
    await rested(page);
    await page.keyboard.press("a");
    assert.equal((await run.ended).code, 0);
    await page.context().close();
  },

  "a grant is made and taken back": async () => {
    const page = await inside(await open(), "#/approvals");
    const run = begin("run", "--session", "page-grant", ...ASKED, "touch", "for-the-session");
    await shown(page, "for-the-session");
    await rested(page);
    await page.keyboard.press("s");
    assert.equal((await run.ended).code, 0);
    assert.equal((await api("GET", "/v1/grants")).grants.length, 1);
    await page.keyboard.press("z");
    await page.waitForSelector("dialog[open]");
    await page.click("dialog .solid");
    await until("the grant is gone", async () => (await api("GET", "/v1/grants")).grants.length === 0);
    await noViolations(page);
    await page.context().close();
  },
});
