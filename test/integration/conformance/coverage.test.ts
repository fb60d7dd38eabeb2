import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { assumptions } from "../../../mock-server/tools/compare/assumptions.ts";
import { rules as table } from "../../../mock-server/tools/compare/rules/table.ts";
import { rules } from "./rules.ts";

/** The ids with which titles of tests begin, such as T1. */
function testedRules(folder: string): ReadonlySet<string> {
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const titles = /\bit(?:\.each\([\s\S]*?\))?\(\s*["'`]([A-Z]\d+) /g;
  return new Set(texts.flatMap((text) => Array.from(text.matchAll(titles), ([, rule = ""]) => rule)));
}

it("every rule of the interface has a test, and every test names a rule", () => {
  const inTable = table.flatMap(({ from }) => from.filter((source) => !source.startsWith("A-")));
  const tested = new Set([...testedRules(import.meta.dirname), ...inTable]);
  expect([...tested].toSorted()).toEqual(Object.keys(rules).toSorted());
});

it("every rule of the table has an id of its own, a sentence, and sources that exist", () => {
  expect(new Set(table.map(({ id }) => id)).size).toBe(table.length);
  const known = new Set([...Object.keys(rules), ...Object.keys(assumptions)]);
  const wrong = table.filter(({ says, from }) => says === "" || from.some((source) => !known.has(source)));
  expect(wrong.map(({ id }) => id)).toEqual([]);
});
