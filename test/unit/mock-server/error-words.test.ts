import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

// docs/mock-errors.md lists every refusal of an operation. The sources are read for them, so that neither
// can change alone.

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

const refusal = /new ServiceError\(\s*"([A-Z_]+)",\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

function refusalsIn(text: string): { code: string; message: string }[] {
  return [...text.matchAll(refusal)].map(([, code = "", plain, template = ""]) => ({
    code,
    message: plain ?? template.replace(/\$\{[^}]*\}/g, "…"),
  }));
}

const found = rules.flatMap((name) => refusalsIn(readFileSync(`${folder}/${name}`, "utf8")));
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
  test("the sources are read", () => {
    expect(refusalsIn(`throw new ServiceError(\n "CONFLICT",\n \`a \${b} c\`);`)).toEqual([
      { code: "CONFLICT", message: "a … c" },
    ]);
    expect(found.length).toBeGreaterThan(40);
  });

  test("lists every refusal under its code, and no other", () => {
    const expected = new Set(
      found
        .filter(({ message }) => !controlOnly.includes(message))
        .map(({ code, message }) => `${code} ${message}`),
    );
    // The limiter answers before any rule is asked.
    expected.add("RATE_LIMITED Too many requests");
    expect(listed.toSorted()).toEqual([...expected].toSorted());
  });
});
