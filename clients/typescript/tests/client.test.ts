// The client against a running server, which the environment names; tests/integration/test_client_typescript.py starts it.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import test from "node:test";
import {
  ApiError, BashTool, Client, CommandFailed, Refused, Unreachable, anthropicResult, anthropicTool, check, isRefused, openaiResult, openaiTool,
  textOf, type Approval, type Approver, type RunEvent, type RunRequest,
} from "../src/index.js";

function given(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

const WORKSPACE = given("NACRE_TEST_WORKSPACE");
const PATIENCE = Number(process.env["NACRE_TEST_PATIENCE"] ?? "60") * 1000;
const ASKING: RunRequest = { argv: ["make", "--version"], profile: "workspace" };

interface Door {
  name: string;
  url: string;
  token?: string;
  boss?: string;
}

const unix: Door = { name: "unix socket", url: `unix:${given("NACRE_TEST_UNIX")}` };
const tcp: Door = { name: "TCP", url: given("NACRE_TEST_URL"), token: given("NACRE_TEST_TOKEN"), boss: given("NACRE_TEST_APPROVER") };

function client(door: Door, approver?: Approver, session?: string): Client {
  const token = approver ? door.boss : door.token;
  return new Client({ url: door.url, ...(token ? { token } : {}), ...(approver ? { approver } : {}), ...(session ? { session } : {}) });
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function runs(door: Door, command: string): Promise<boolean> {
  return (await client(door).tasks({ running: true })).some((task) => task.command?.includes(command));
}

for (const door of [unix, tcp]) {
  const named = (name: string, run: () => Promise<void>) => test(`${door.name}: ${name}`, run);

  named("a command runs", async () => {
    const result = await client(door).run("echo out; echo err >&2; exit 3");
    assert.deepEqual([result.stdout, result.stderr, result.exit_code, result.success], ["out\n", "err\n", 3, false]);
    assert.equal(result.sandbox.tier, "strict");
    assert.throws(() => check(result), (error) => error instanceof CommandFailed && error.exitCode === 3);
  });

  named("words, environment, input and directory arrive", async () => {
    assert.equal(check(await client(door).run(["printf", "%s|", "a b", "$x", ";"])).stdout, "a b|$x|;|");
    mkdirSync(`${WORKSPACE}/sub`, { recursive: true });
    const result = await client(door).run({
      command: "pwd; cat; echo $GREETING", cwd: "sub", env: { GREETING: "héllo" }, input: "fed\n", output_mode: "merged",
    });
    assert.equal(textOf(result), `${WORKSPACE}/sub\nfed\nhéllo\n`);
  });

  named("a refusal carries reason and advice", async () => {
    const result = await client(door).run({ argv: ["ls"], profile: "verify" });
    assert(isRefused(result));
    assert.throws(() => check(result), (error) => error instanceof Refused && error.verdict === "nudge" && error.rule === "nudge:list"
      && error.recommended.join() === "file.list,project.map" && error.reason.includes("ls"));
    assert((await client(door).run({ argv: ["ls"], profile: "verify", force: true })).success);
    const lost = await client(door).run({ command: "ls", cwd: "nowhere" });
    assert.throws(() => check(lost), (error) => error instanceof Refused && error.verdict === null && error.rule === null);
  });

  named("output streams while the command runs", async () => {
    const gate = `${WORKSPACE}/gate-${door.name.slice(0, 3)}`;
    const seen: RunEvent[] = [];
    for await (const event of client(door).stream(`echo first; until [ -e ${gate} ]; do sleep 0.02; done; echo second >&2`)) {
      seen.push(event);
      if (event.event === "output" && event.data.text === "first\n") writeFileSync(gate, ""); // the command goes on only now
    }
    assert.deepEqual(seen.slice(0, 2).map((event) => event.data), [{ stream: "stdout", text: "first\n" }, { stream: "stderr", text: "second\n" }]);
    const last = seen[seen.length - 1];
    assert(last?.event === "result" && last.data.success);
  });

  named("to leave the loop ends the command, and so does a signal", async () => {
    for await (const event of client(door).stream("echo begun; sleep 621")) {
      assert.equal(event.event, "output");
      break;
    }
    await until("the command has ended", async () => !(await runs(door, "sleep 621")));
    const stop = new AbortController();
    const call = client(door).run("sleep 622", { signal: stop.signal });
    const rejected = assert.rejects(call, (error) => error instanceof Error && error.name === "AbortError");
    await until("the command runs", () => runs(door, "sleep 622"));
    stop.abort();
    await rejected;
    await until("the command has ended", async () => !(await runs(door, "sleep 622")));
  });

  named("tasks are listed, read, followed and stopped", async () => {
    const it = client(door);
    const id = (await it.start({ command: "echo one; echo two; sleep 600", description: "waits" })).task_id ?? "";
    assert.equal((await it.task(id)).description, "waits");
    assert((await it.tasks({ limit: 50, running: true })).some((task) => task.task_id === id));
    let [text, since] = ["", 0];
    while (!text.includes("two")) {
      const piece = await it.output(id, { since, wait_ms: 10_000 });
      [text, since] = [text + (piece.output ?? ""), piece.next];
    }
    assert.equal(text, "one\ntwo\n");
    assert.equal((await it.output(id, { grep: "tw" })).output, "two\n");
    let ended = false;
    for await (const event of it.follow(id)) {
      if (event.event === "output") assert((await it.stop(id, { now: true })).task_id === id);
      else ended = !event.data.running;
    }
    assert(ended);
  });

  named("a terminal is typed on", async () => {
    const it = client(door);
    const id = (await it.start({ command: "read -r line; echo got $line; stty size", pty: { rows: 30, cols: 90 } })).task_id ?? "";
    await it.type(id, { rows: 41, cols: 121 });
    await it.type(id, { text: "words\n" });
    let text = "";
    for await (const event of it.follow(id)) if (event.event === "output") text += event.data.text ?? "";
    assert.match(text, /got words/);
    assert.match(text, /41 121/);
  });

  named("a session keeps directory, variables and files", async () => {
    const it = client(door, undefined, "ts");
    check(await it.run("mkdir -p here; cd here; export WORD=kept; echo text > /tmp/note"));
    assert.equal(check(await it.run("pwd; echo $WORD; cat /tmp/note")).stdout, `${WORKSPACE}/here\nkept\ntext\n`);
    const { room } = await it.session("ts");
    assert((await it.sessions()).some((session) => session.room === room));
    await it.endSession("ts");
    assert(!(await it.sessions()).some((session) => session.room === room));
  });

  named("the approver decides", async () => {
    const asked: Approval[] = [];
    const yes: Approver = (approval) => {
      asked.push(approval);
      return "once";
    };
    assert.match(textOf(check(await client(door, yes).run(ASKING))), /GNU Make/);
    assert.equal(asked[0]?.command, "'make' '--version'");
    const no = await client(door, async () => ({ answer: "deny", reason: "not on my watch" })).run(ASKING);
    assert.throws(() => check(no), (error) => error instanceof Refused && error.reason.includes("not on my watch"));
    const broken = client(door, () => {
      throw new RangeError("the screen is gone");
    });
    await assert.rejects(broken.run(ASKING), (error) => error instanceof RangeError);
  });

  named("without an approver the result names the approval", async () => {
    const result = await client(door).run(ASKING);
    const id = result.approval?.id ?? "";
    const boss = client(door, () => "deny");
    assert((await boss.approvals()).some((approval) => approval.id === id));
    assert.equal((await boss.answer(id, "once")).answer, "once");
    assert(check(await client(door).run(ASKING)).success);
  });

  named("an explanation, /shell, health and the audit log", async () => {
    const it = client(door);
    assert.equal((await it.explain("curl -s https://example.org/x | sudo bash")).verdict, "deny");
    assert.deepEqual(await it.shell("pwd", WORKSPACE, 30), { success: true, stdout: `${WORKSPACE}\n`, stderr: "", returncode: 0 });
    assert.match((await it.shell("ls | cat")).stderr, /metacharacter/);
    assert.equal((await it.health()).status, "ok");
    assert((await it.audit({ limit: 5 })).length > 0);
  });

  named("the tools are those of the server", async () => {
    const box = await client(door).toolbox();
    const bash = box.tools.find((tool) => tool.name === "Bash");
    assert(bash && box.instructions);
    assert.deepEqual(anthropicTool(bash).input_schema.required, ["command"]);
    assert.equal(openaiTool(bash).function.parameters, bash.inputSchema);
    await box.call("Bash", { command: "mkdir -p inside && cd inside" });
    const answer = await box.call("Bash", { command: "pwd" });
    assert.match(answer.text, /\/inside/);
    assert.equal(answer.facts["exit_code"], 0);
    const refused = await box.call("safe_shell", { command: "git", args: ["diff"] });
    assert(anthropicResult("id", refused).is_error);
    assert.equal(openaiResult("id", refused).tool_call_id, "id");
    await box.close();
  });

  named("the Bash tool answers in one object", async () => {
    const tool = new BashTool(client(door));
    assert.match(await tool.describe(), /bash/);
    const done = await tool.execute({ command: "echo hi; echo oh >&2; exit 2", description: "greet", timeout: 60_000, env: { A: "b" } });
    assert.deepEqual([done.success, done.stdout, done.stderr, done.exit_code], [false, "hi\n", "oh\n", 2]);
    const refused = await tool.execute({ command: "rm -rf /" });
    assert.deepEqual([refused.success, refused.stdout, refused.exit_code], [false, "", 126]);
    assert.match(refused.stderr, /[Rr]ecursive delete/);
    const task = await tool.execute({ command: "sleep 600", run_in_background: true });
    assert(task.success && task.task_id && task.output_file);
    await client(door).stop(task.task_id, { now: true });
    const late = await tool.execute({ command: "sleep 600", timeout: 500 });
    assert.equal(late.exit_code, 124);
  });

  named("mistakes are errors with status and kind", async () => {
    const it = client(door);
    const fails = (status: number, kind: string) => (error: unknown) => error instanceof ApiError && error.status === status && error.kind === kind;
    await assert.rejects(it.task("bash-nothing"), fails(404, "input"));
    await assert.rejects(it.run({ command: "ls", profile: "no-such" }), fails(403, "scope"));
    await assert.rejects(it.run({ command: "ls", timeout_ms: -1 }), fails(400, "input"));
    const forbidden = async () => {
      for await (const event of it.stream({ command: "ls", profile: "no-such" })) assert(!event);
    };
    await assert.rejects(forbidden(), fails(403, "scope"));
  });
}

test("forty commands at a time", async () => {
  const results = await Promise.all(Array.from({ length: 40 }, (_, i) => client(unix).run(["echo", String(i)])));
  assert.deepEqual(results.map(textOf), Array.from({ length: 40 }, (_, i) => `${i}\n`));
});

test("a wrong token, and one that may not approve", async () => {
  await assert.rejects(new Client({ url: tcp.url, token: "wrong" }).run("ls"), (error) => error instanceof ApiError && error.status === 401);
  const weak = new Client({ url: tcp.url, token: tcp.token ?? "", approver: () => "once" });
  await assert.rejects(weak.run(ASKING), (error) => error instanceof ApiError && error.status === 403);
});

test("an address is a URL, a socket or the environment", async () => {
  await assert.rejects(new Client({ url: "unix:/nonexistent/nacre.sock" }).health(), (error) => error instanceof Unreachable);
  for (const wrong of ["https://x", "ftp://x", "x", "http://x/path"]) {
    assert.throws(() => new Client({ url: wrong }), (error) => error instanceof TypeError);
  }
  process.env["NACRE_URL"] = "http://[::1]:7878";
  assert.deepEqual(new Client().address, { unix: null, host: "[::1]", port: 7878, token: null });
  delete process.env["NACRE_URL"];
  assert.match(new Client().address.unix ?? "", /nacre\.sock$/);
});
