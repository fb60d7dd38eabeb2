import { readFileSync } from "node:fs";
import { mockServerErrorCodes } from "@workspace-tasks/mock-server";
import { expect, it } from "vitest";

it("docs/mock-errors.md has a row for every code of a MockServerError", () => {
  const page = readFileSync("docs/mock-errors.md", "utf8");
  const rows = [...page.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \|/gm)];
  const explained = rows.flatMap(([, codes = ""]) => codes.replaceAll("`", "").split(", "));
  expect(mockServerErrorCodes.filter((code) => !explained.includes(code))).toEqual([]);
});
