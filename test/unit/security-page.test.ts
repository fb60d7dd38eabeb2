import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const page = readFileSync("SECURITY.md", "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| **"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

describe("SECURITY.md", () => {
  it("has a row for each threat", () => {
    expect(rows.length).toBeGreaterThan(10);
  });

  it.each(rows.map(([, threat = "", , shownBy = ""]) => [threat, shownBy]))(
    "names existing tests in the row %s",
    (_, shownBy) => {
      const tests = [...shownBy.matchAll(/`((?:test|receiver-kit\/testing)\/[^`]+)`: ([^;]+)/g)];
      expect(tests.length, "a row names at least one test").toBeGreaterThan(0);
      expect(shownBy.split(";")).toHaveLength(tests.length);
      for (const [, file = "", title = ""] of tests) {
        // Titles of parameterized tests have … in the place of a parameter.
        const parts = title
          .trim()
          .split("…")
          .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
        const pattern = new RegExp(`["'\`]${parts.join("[^\\n]*")}["'\`]`);
        expect(readFileSync(file, "utf8"), `${file} has no test "${title.trim()}"`).toMatch(pattern);
      }
    },
  );
});
