import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { errorCodes } from "../../../sdk/errors.ts";

const guide = readFileSync("docs/errors.md", "utf8");
const section = guide.split(/^## /m).find((text) => text.startsWith("SDK\n")) ?? "";
const entries = section.split(/^### /m).slice(1);

it("docs/errors.md has a heading for every code of the SDK and no other", () => {
  expect(entries.map((entry) => entry.split("\n")[0]).sort()).toEqual([...errorCodes].sort());
});

it.each(entries.map((entry) => [entry.split("\n")[0] ?? "", entry] as const))(
  "docs/errors.md says cause, fix, repeatability and outcome of %s",
  (_, entry) => {
    for (const part of [/^- Cause: \S/m, /^- Fix: \S/m, /^- Repeat: \S/m, /Outcome: \S/]) {
      expect(entry).toMatch(part);
    }
  },
);
