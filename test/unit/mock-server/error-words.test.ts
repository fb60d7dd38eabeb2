import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

// docs/mock-errors.md lists every refusal of an operation. The sources are read for them, so that neither
// can change alone.

const rules = [
  "identity/api-keys",
  "partner/artifacts",
  "firm/clients",
  "partner/connections",
  "webhooks/endpoints",
  "webhooks/event-types",
  "identity/caller",
  "partner/jobs",
  "list-bounds",
  "webhooks/page-iterator",
  "firm/workspaces",
  "partner/works",
];

/** Refusals in these files that only the control API can meet. */
const controlOnly = [
  "API key expiry must be 30, 60, 90 or 365 days",
  "User is not a member of the workspace",
  "API key not found",
  "Partner not found",
];

const refusal = /new ServiceError\(\s*"([A-Z_]+)",\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

function refusalsIn(text: string): { code: string; message: string }[] {
  return [...text.matchAll(refusal)].map(([, code = "", plain, template = ""]) => ({
    code,
    message: plain ?? template.replace(/\$\{[^}]*\}/g, "…"),
  }));
}

const found = rules.flatMap((name) => refusalsIn(readFileSync(`mock-server/${name}.ts`, "utf8")));
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
