// `npm run docs -- --check` compares what documents derive from. These tests check what nothing generates: that blocks are run,
// that paths exist, and that lists are complete.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { receiverErrorCodes } from "workspace-tasks/receiver-kit";
import { errorCodes } from "workspace-tasks/sdk";
import { apiFaultSchema, deliveryFaultSchema } from "../../mock-server/state/fault.ts";
import { rejectionStatuses } from "../../receiver-kit/errors.ts";
import { blocksOf, type MarkedBlock, regionOf } from "../../scripts/marked-blocks.ts";
import { withImports } from "../../scripts/page-imports.ts";
import { projectFiles } from "../../scripts/project-files.mjs";

const documents = projectFiles(".", ".md");
const read = (file: string) => readFileSync(file, "utf8");

/** Whether a block is copied from a tested file, read by the test that its mark names, or says why none runs it. */
function isChecked(file: string, { language, mark, text }: MarkedBlock): boolean {
  const [, test] = /^run: (\S+\.ts)$/.exec(mark) ?? [];
  // A test, or a fixture of tests, that reads the document.
  if (test !== undefined) return existsSync(test) && read(test).includes(file);
  if (/^(?:examples|\.ci)\/\S+#\S+$|^imports$|^none: \S/.test(mark)) return true;
  const isCommand = /^(?:\$ )?(?:npx|npm|node|curl|docker|workspace-tasks|export) /m.test(text);
  return language === "mermaid" || (language === "text" && !isCommand);
}

describe("the blocks of the README and docs/", () => {
  const pages = documents.filter((file) => /^README|^docs\//.test(file));

  it("are each copied from a tested file, run by a test that reads them, or say why not", () => {
    const blocks = pages.flatMap((file) => blocksOf(read(file)).map((block) => ({ file, block })));
    expect(blocks.length).toBeGreaterThan(150);
    const unchecked = blocks.filter(({ file, block }) => !isChecked(file, block));
    expect(unchecked.map(({ file, block }) => `${file}:${block.line}`)).toEqual([]);
  });

  it.each([
    ["no mark", "", "sh", "npm test"],
    ["a test that does not exist", "run: test/e2e/none.test.ts", "sh", "npm test"],
    ["a test that does not read the page", "run: test/e2e/start.test.ts", "sh", "npm test"],
    ["a mark without a test", "run", "sh", "npm test"],
    ["no reason", "none: ", "ini", "a = 1"],
    ["no language", "", "", "a"],
    ["a command as text", "", "text", "workspace-tasks mock --port 1"],
  ])("are found when they have %s", (_, mark, language, text) => {
    expect(isChecked("docs/cli.md", { mark, language, text, line: 1 })).toBe(false);
  });
});

it("the imports of a page have the names that its code uses and no other block imports", () => {
  const block =
    "<!-- examples/sdk.test.ts#rate-limit-store -->\n```ts\n" +
    regionOf("examples/sdk.test.ts#rate-limit-store") +
    "```\n";
  const place = "<!-- imports -->\n```ts\n```\n";
  const shown =
    'import pg from "pg";\nimport { createClient, postgresRateLimitStore } from "workspace-tasks/sdk";\n';
  expect(withImports(place + block)).toContain(shown);
  const importing = `<!-- examples/first-request.ts#first-request -->\n\`\`\`ts\n${regionOf("examples/first-request.ts#first-request")}\`\`\`\n`;
  expect(withImports(place + block + importing)).toContain(shown);
  expect(withImports(importing + place + block)).toContain("import { postgresRateLimitStore } from");
  expect(() => withImports(block)).toThrow('add "<!-- imports -->"');
});

it("every path that a document names exists", () => {
  const named = documents.flatMap((file) =>
    [
      ...read(file).matchAll(
        /`((?:test|docs|examples|scripts|bench|sdk|mock-server|receiver-kit)\/[^\s`*{}]+)`/g,
      ),
    ].map(([, path = ""]) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
});

describe("docs/errors.md", () => {
  const [, sdk = "", receiver = ""] = read("docs/errors.md").split(/^## (?:SDK|Receiver)$/m);

  it.each([
    ["the SDK", sdk, errorCodes],
    ["the receiver kit", receiver, receiverErrorCodes],
  ])("explains every code of %s once, and no other", (_, section, codes) => {
    const explained = section.matchAll(
      /^#### ([A-Z0-9_]+)\n\n[\s\S]+?\n\n\*\*Fix\*\*: |^\| `([A-Z0-9_]+)` \|(?!.*\[below\])/gm,
    );
    expect(Array.from(explained, ([, heading, row]) => heading ?? row).toSorted()).toEqual(codes.toSorted());
  });

  it("says the status of every rejected request", () => {
    const statuses = receiver.matchAll(/^\| `([A-Z0-9_]+)` \| (\d+) \|(?!.*\[below\])/gm);
    expect(Object.fromEntries(Array.from(statuses, ([, code, status]) => [code, Number(status)]))).toEqual(
      rejectionStatuses,
    );
  });
});

/** Messages of TypeScript, Node, Jest and Babel. */
const foreignMessages = new Set([
  'Unexpected token, expected "from"',
  "has no exported member 'createReceiver'",
  "Cannot find package 'msw'",
  "Must use import to load ES Module",
]);

describe("docs/troubleshooting.md", () => {
  const page = read("docs/troubleshooting.md");

  it("quotes messages that exist", () => {
    const sources = projectFiles(".", ".ts")
      .filter((file) => /^(sdk|mock-server|receiver-kit|cli)\//.test(file))
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
