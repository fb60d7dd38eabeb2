import { expect, it } from "vitest";
import { conformanceTestsIn, findGaps, readConformanceTests, renderConformanceTable } from "./coverage.ts";
import { rules } from "./rules.ts";

const tests = readConformanceTests(import.meta.dirname);

it("every rule of the interface has a test, and every test names a rule", () => {
  expect(findGaps(tests)).toEqual({ untested: [], unknown: [] });
});

it("the check finds a rule without a test and a test without a rule", () => {
  const some = conformanceTestsIn("some.test.ts", 'it("K1 exchanges", run); mockTest("Q9 dreams", run);');
  expect(some.map(({ rule, mockOnly }) => [rule, mockOnly])).toEqual([
    ["K1", false],
    ["Q9", true],
  ]);
  const gaps = findGaps(some);
  expect(gaps.unknown).toEqual(["Q9"]);
  expect(gaps.untested).toHaveLength(Object.keys(rules).length - 1);
  expect(gaps.untested).not.toContain("K1");
});

it("docs/maintainers/conformance.md equals the list of rules and tests", async () => {
  await expect(renderConformanceTable(tests)).toMatchFileSnapshot("../../docs/maintainers/conformance.md");
});
