// The schemas with real zod, of both versions: tests/integration/test_client_typescript.py brings it.
import assert from "node:assert/strict";
import test from "node:test";
import { z } from "zod/v3";
import { schemas, type Zod } from "../src/zod.js";
import type { BashInput } from "../src/index.js";

const newer = (await import("zod" as string)) as { z: Zod };

for (const [version, made] of [["3", schemas(z)], ["4", schemas(newer.z)]] as const) {
  test(`zod ${version}: what is right is taken, what is wrong is not`, () => {
    const input: BashInput = made.bashInput.parse({ command: "ls", timeout: 600_000, env: { A: "b" } });
    assert.equal(input.command, "ls");
    for (const wrong of [{}, { command: "" }, { command: "ls", timeout: 600_001 }, { command: "ls", env: { A: 1 } }, { command: "ls", more: 1 }]) {
      assert.equal(made.bashInput.safeParse(wrong).success, false, JSON.stringify(wrong));
    }
    assert.equal(made.shellInput.safeParse({ command: "ls", timeout: 31 }).success, false);
    assert.equal(made.runRequest.parse({ argv: ["ls"], pty: { rows: 1, cols: 2 }, output_mode: "merged" }).output_mode, "merged");
    assert.equal(made.runRequest.safeParse({ command: "ls", pty: { rows: 0, cols: 2 } }).success, false);
  });
}

test("a schema goes where the caller's own zod wants one", () => {
  const tool: { parameters: z.ZodTypeAny } = { parameters: schemas(z).bashInput };
  assert.equal(tool.parameters.safeParse({ command: "ls" }).success, true);
});
