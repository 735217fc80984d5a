// An agent in one file, with Node.js alone: a model that speaks the chat API, and nacre as its only tool.
//
//   nacre serve --listen 127.0.0.1:7878 --workspace ~/project &
//   export NACRE_URL=http://127.0.0.1:7878 NACRE_TOKEN=$(nacre token create agent --profile bash --workspace ~/project)
//   export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_API_KEY=none MODEL=qwen3
//   nacre call --schema Bash >tools.json
//   node agent.mjs tools.json ~/project 'Which file here is the largest?'
//
// nacre decides on every command, and runs it in its sandbox. What it refuses, the model is told, with what to do instead.
import { readFileSync } from "node:fs";

const ROUNDS = 20;
const [schema, workspace, task] = process.argv.slice(2);
const env = process.env;

async function post(url, key, body) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return answer.json(); // of an error, too: nacre says in JSON what was wrong with a request
}

/** One call of the model, as text for the model. */
async function run(call) {
  let command;
  try {
    ({ command } = JSON.parse(call.function.arguments));
  } catch (error) {
    return `These are not the arguments of the tool: ${error.message}`;
  }
  const result = await post(`${env.NACRE_URL}/v1/run`, env.NACRE_TOKEN, { command, profile: "bash", workspace });
  const kept = ["exit_code", "stdout", "stderr", "reason", "recommended", "notices", "error"];
  return JSON.stringify(Object.fromEntries(kept.filter((name) => result[name]?.length !== 0 && result[name] != null)
    .map((name) => [name, result[name]])));
}

const tools = JSON.parse(readFileSync(schema, "utf8"));
const messages = [{ role: "user", content: task }];
for (let round = 0; round < ROUNDS; round++) {
  const answer = await post(`${env.OPENAI_BASE_URL}/chat/completions`, env.OPENAI_API_KEY, { model: env.MODEL, messages, tools });
  const { message } = answer.choices[0];
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    console.error("tool:", call.function.arguments);
    messages.push({ role: "tool", tool_call_id: call.id, content: await run(call) });
  }
  if (!message.tool_calls?.length) {
    console.log(message.content);
    process.exit(0);
  }
}
console.error(`no answer after ${ROUNDS} rounds`);
process.exit(1);
