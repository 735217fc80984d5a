// Compiles every schema of an OpenAPI document with ajv, strictly: schemas.mjs DOCUMENT.json, prints how many there are.
import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";

const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv2020.default({ strict: true, allowUnionTypes: true, validateSchema: false });
ajv.addVocabulary(Object.keys(document));
ajv.addSchema(document, "api");

let count = 0;
function walk(value, pointer) {
  if (!value || typeof value !== "object") return;
  for (const [key, member] of Object.entries(value)) {
    const at = `${pointer}/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
    if (key === "schema" || pointer === "/components/schemas") {
      if (!new Ajv2020.default({ strict: true }).validateSchema(member)) throw new Error(`${at}: no valid schema`);
      ajv.compile({ $ref: `api#${at}` });
      count++;
    } else walk(member, at);
  }
}
walk(document, "");
console.log(count);
