// docs/mock-errors.md lists every error of an operation. The sources of all rules are read for them, so that neither
// can change alone.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { mockServerErrorCodes } from "workspace-tasks/mock-server";

const folder = "mock-server/rules";
const rules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".ts"),
);

/** Errors that only control API callers receive. */
const controlOnly = [
  "API key expiry must be 30, 60, 90 or 365 days",
  "User is not a member of the workspace",
  "API key not found",
  "Partner not found",
  "Membership not found",
  "Task not found",
  'delivery "…" not found',
  'event name must look like "noun.verb", got "…"',
  'event "…" is already in the catalog',
  'stage "…" is already RUNNING',
  "a task that is … cannot become …",
  "the stages of a task that is … do not change",
  "the delivery's endpoint is …",
];

const patterns = [
  /new ServiceError\(\s*"([A-Z_]+)",\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  /throw (badInput|conflict|notFound)\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g,
  /\b(?:reachable|found)\([^"`]*()(?:"([^"]+)"|`([^`]+)`)/g,
];

const factories: Readonly<Record<string, string>> = {
  badInput: "BAD_USER_INPUT",
  conflict: "CONFLICT",
  notFound: "NOT_FOUND",
};

function errorsIn(text: string): { code: string; message: string }[] {
  return patterns
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(([, code = "", plain, template = ""]) => ({
      code: factories[code] ?? (code || "NOT_FOUND"),
      message: plain ?? template.replace(/\$\{[^}]*\}/g, "…"),
    }));
}

const found = rules.flatMap((name) => errorsIn(readFileSync(`${folder}/${name}`, "utf8")));
const page = readFileSync("docs/mock-errors.md", "utf8");
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split("\n", 1)[0] ?? "", section]),
);
const listed = [...sections].flatMap(([code, section]) =>
  [...section.matchAll(/^\| `(.+?)` \|/gm)].map(([, message]) => `${code} ${message}`),
);

describe("docs/mock-errors.md", () => {
  it("lists every ServiceError of the rules under its code, and no other", () => {
    const expected = new Set(
      found
        .filter(({ message }) => !controlOnly.includes(message))
        .map(({ code, message }) => `${code} ${message}`),
    );
    // The rate limit is checked before the rules.
    expected.add("RATE_LIMITED Too many requests");
    expect(listed.toSorted()).toEqual([...expected].toSorted());
  });

  it("has a heading for every code of a MockServerError", () => {
    const headings = [...page.matchAll(/^##+ (.+)$/gm)].flatMap(([, heading = ""]) => heading.split(", "));
    expect(mockServerErrorCodes.filter((code) => !headings.includes(code))).toEqual([]);
  });

  it("is compared with the messages in the sources", () => {
    const source = `throw new ServiceError(\n "CONFLICT",\n \`a \${b} c\`); reachable(world, x, "d not found")`;
    expect(errorsIn(source)).toEqual([
      { code: "CONFLICT", message: "a … c" },
      { code: "NOT_FOUND", message: "d not found" },
    ]);
    expect(found.length).toBeGreaterThan(40);
  });
});
