// What is generated for people who look something up, and for programs: `npm run docs` writes it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { mockServerErrorCodes } from "workspace-tasks/mock-server";
import { receiverErrorCodes } from "workspace-tasks/receiver-kit";
import { errorCodes } from "workspace-tasks/sdk";
import { apiFaultSchema, deliveryFaultSchema } from "../../mock-server/state/fault.ts";
import { assistantIndex, assistantText } from "../../scripts/assistant-texts.ts";
import { deadLinks } from "../../scripts/dead-links.mjs";
import { withErrorCodes } from "../../scripts/error-codes.ts";
import { rootModule } from "../../scripts/package-root.ts";
import { projectFiles } from "../../scripts/project-files.mjs";
import { entryPoints, exportsOf } from "../../scripts/public-exports.ts";

const read = (file: string) => readFileSync(file, "utf8");

/** Codes of the service's own errors, which docs/mock-errors.md lists by message. */
const serviceCodes = new Set<string>([
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "BAD_USER_INPUT",
  "GRAPHQL_VALIDATION_FAILED",
  "GRAPHQL_PARSE_FAILED",
  "BAD_REQUEST",
  "INTERNAL_SERVER_ERROR",
]);
/** Messages of TypeScript, Node, Jest and Babel. */
const foreignMessages = new Set([
  'Unexpected token, expected "from"',
  "has no exported member 'createClient'",
  "Cannot find package 'msw'",
  "Must use import to load ES Module",
]);

describe("docs/troubleshooting.md", () => {
  const page = read("docs/troubleshooting.md");

  it("links to the section of every error code", () => {
    expect(withErrorCodes(page)).toBe(page);
    const codes = [...errorCodes, ...receiverErrorCodes, ...mockServerErrorCodes];
    expect(codes.filter((code) => !page.includes(`${code}](`) && !serviceCodes.has(code))).toEqual([]);
  });

  it("quotes messages that exist", () => {
    const sources = projectFiles(".", ".ts", ".cjs")
      .filter((file) => /^(sdk|mock-server|receiver-kit|cli|root)\//.test(file))
      .map(read)
      .join("\n");
    const quoted = page.split("\n").flatMap((line) => /^\| `([^`]* [^`]*)`/.exec(line)?.[1] ?? []);
    const ours = quoted.filter((text) => !foreignMessages.has(text));
    expect(ours.length).toBeGreaterThan(15);
    const parts = ours.flatMap((text) => text.split("…").map((part) => part.replace(/^--\w+: /, "").trim()));
    expect(parts.filter((part) => !sources.includes(part))).toEqual([]);
  });
});

it("docs/mock-server.md names every kind of fault", () => {
  const guide = read("docs/mock-server.md");
  const kinds = [apiFaultSchema, deliveryFaultSchema].flatMap(({ options }) =>
    options.map(({ shape }) => shape.kind.value),
  );
  expect(kinds.filter((kind) => !guide.includes(`\`${kind}\``))).toEqual([]);
});

describe("the API reference", () => {
  it.each(entryPoints())("has a section for every export of $specifier", ({ specifier, source }) => {
    const page = read(`docs/api/${specifier.split("/").slice(1).join("-")}.md`);
    const headings = new Set([...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name));
    expect(exportsOf(source).filter(({ name }) => !headings.has(name))).toEqual([]);
  });
});

it("llms.txt and llms-full.txt have the text of the documents", () => {
  expect(read("llms.txt")).toBe(assistantIndex());
  expect(read("llms-full.txt")).toBe(assistantText());
  expect(deadLinks(".", ["llms.txt", "llms-full.txt"])).toEqual([]);
});

it("root/index.js has the names of all entry points", () => {
  expect(read("root/index.js")).toBe(rootModule());
});
