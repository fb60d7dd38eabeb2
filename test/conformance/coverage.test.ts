import { expect, test } from "vitest";
import { conformanceTestsIn, findGaps, readConformanceTests, renderConformanceTable } from "./coverage.ts";
import { rules } from "./rules.ts";

const tests = readConformanceTests(import.meta.dirname);

test("every rule of the interface has a test, and every test names a rule", () => {
  expect(findGaps(tests)).toEqual({ untested: [], unknown: [] });
});

test("a rule without a test and a test without a rule are found", () => {
  const some = conformanceTestsIn("some.test.ts", 'test("K1 exchanges", run); mockTest("Q9 dreams", run);');
  expect(some.map(({ rule, mockOnly }) => [rule, mockOnly])).toEqual([
    ["K1", false],
    ["Q9", true],
  ]);
  const gaps = findGaps(some);
  expect(gaps.unknown).toEqual(["Q9"]);
  expect(gaps.untested).toHaveLength(Object.keys(rules).length - 1);
  expect(gaps.untested).not.toContain("K1");
});

test("docs/conformance.md lists the rules and their tests as they are", async () => {
  await expect(renderConformanceTable(tests)).toMatchFileSnapshot("../../docs/conformance.md");
});
