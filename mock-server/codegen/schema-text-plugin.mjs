// A code generator plugin: the contract as a module, so that the mock server reads no file.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function plugin() {
  const text = readFileSync(join(import.meta.dirname, "../../schema.graphql"), "utf8");
  return `/** schema.graphql, with the directives that say which router serves a field. */
export const schemaText = ${JSON.stringify(text)};
`;
}
