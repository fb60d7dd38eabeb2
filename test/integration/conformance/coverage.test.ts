import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { rules } from "./rules.ts";

/** The ids with which titles of tests begin, such as T1. */
function testedRules(folder: string): ReadonlySet<string> {
  const texts = readdirSync(folder)
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  const titles = /\b(?:it|mockTest)(?:\.each\([\s\S]*?\))?\(\s*["'`]([A-Z]\d+) /g;
  return new Set(texts.flatMap((text) => Array.from(text.matchAll(titles), ([, rule = ""]) => rule)));
}

it("every rule of the interface has a test, and every test names a rule", () => {
  expect([...testedRules(import.meta.dirname)].toSorted()).toEqual(Object.keys(rules).toSorted());
});
