import { expect, it } from "vitest";
import { findGaps, readConformanceTests, renderConformanceTable } from "./coverage.ts";

const tests = readConformanceTests(import.meta.dirname);

it("every rule of the interface has a test, and every test names a rule", () => {
  expect(findGaps(tests)).toEqual({ untested: [], unknown: [] });
});

it("docs/maintainers/conformance.md equals the list of rules and tests", async () => {
  await expect(renderConformanceTable(tests)).toMatchFileSnapshot("../../../docs/maintainers/conformance.md");
});
