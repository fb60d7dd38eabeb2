// Readers of a release look for what was added, changed and fixed: every version has these headings, in this order, with text.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const expected = ["Added", "Changed", "Fixed"];

/** What is wrong with the versions of a changelog, a sentence each. */
function mistakesIn(changelog: string): readonly string[] {
  const [, ...versions] = changelog.split(/^## /m);
  if (versions.length === 0) return ["there is no version"];
  return versions.flatMap((section) => {
    const [version = ""] = section.split(/\s/);
    const [, ...parts] = section.split(/^### /m);
    const headings = parts.map((part) => part.split("\n", 1)[0] ?? "");
    const empty = parts.filter((part) => part.split("\n").slice(1).join("").trim() === "");
    return [
      ...(headings.join() === expected.join()
        ? []
        : [`${version}: expected the headings ${expected.join(", ")}, got ${headings.join(", ") || "none"}`]),
      ...empty.map((part) => `${version}: nothing below ${part.trim()}`),
    ];
  });
}

it("each version of the changelog says what was added, changed and fixed", () => {
  expect(mistakesIn(readFileSync("CHANGELOG.md", "utf8"))).toEqual([]);
});

const complete = "# Changelog\n\n## 0.2.0\n\n### Added\n\n- a\n\n### Changed\n\n- b\n\n### Fixed\n\n- c\n";
const headings = "expected the headings Added, Changed, Fixed";

it.each([
  ["a version without headings", "# Changelog\n\n## 0.2.0\n\ntext\n", `0.2.0: ${headings}, got none`],
  ["an unknown heading", complete.replace("Changed", "News"), `0.2.0: ${headings}, got Added, News, Fixed`],
  ["a heading that is missing", complete.replace("### Added", ""), `0.2.0: ${headings}, got Changed, Fixed`],
  ["an empty section", complete.replace("- c", ""), "0.2.0: nothing below Fixed"],
  ["a changelog without a version", "# Changelog\n", "there is no version"],
])("the check of the changelog finds %s", (_, changelog, mistake) => {
  expect(mistakesIn(changelog)).toEqual([mistake]);
});
