import { readFileSync } from "node:fs";
import { mockServerErrorCodes } from "@workspace-tasks/mock-server";
import { expect, it } from "vitest";

it("docs/mock-errors.md has a heading for every code of a MockServerError", () => {
  const page = readFileSync("docs/mock-errors.md", "utf8");
  const headings = [...page.matchAll(/^##+ (.+)$/gm)].flatMap(([, heading = ""]) => heading.split(", "));
  expect(mockServerErrorCodes.filter((code) => !headings.includes(code))).toEqual([]);
});
