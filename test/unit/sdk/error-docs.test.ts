import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorCodes } from "../../../sdk/errors.ts";

const guide = readFileSync("docs/errors.md", "utf8");
const section = guide.split(/^## /m).find((text) => text.startsWith("SDK\n")) ?? "";
const entries = section.split(/^### /m).slice(1);

test("every code of the SDK has a heading in docs/errors.md, and no heading is left over", () => {
  expect(entries.map((entry) => entry.split("\n")[0]).sort()).toEqual([...errorCodes].sort());
});

test.each(entries.map((entry) => [entry.split("\n")[0] ?? "", entry] as const))(
  "%s has a cause, what to do, whether to repeat it, and an outcome",
  (_, entry) => {
    for (const part of [/^- Cause: \S/m, /^- What to do: \S/m, /^- Safe to repeat: \S/m, /Outcome: \S/]) {
      expect(entry).toMatch(part);
    }
  },
);
