// `npm run docs -- --check` compares what documents derive from. These tests check what nothing generates: that blocks are run,
// that paths exist, and that lists are complete.
import { existsSync, readFileSync } from "node:fs";
import { knownEventNames } from "@workspace-tasks/events";
import { receiverErrorCodes } from "@workspace-tasks/receiver-kit";
import { errorCodes } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { withImports } from "../../../docs/generate/page-imports.ts";
import { apiFaultSchema, deliveryFaultSchema } from "../../../mock-server/state/fault.ts";
import { rejectionStatuses } from "../../../receiver-kit/errors.ts";
import { projectFiles } from "../../../scripts/project-files.ts";
import { blocksOf, deadLinks, type MarkedBlock } from "../../support/documents.ts";

const documents = projectFiles(".", ".md");
const read = (file: string) => readFileSync(file, "utf8");

/** Whether a block is copied from a tested file, read by the test that its mark names, or says why none runs it. */
function isChecked(file: string, { language, mark, text }: MarkedBlock): boolean {
  const [, test] = /^run: (\S+\.ts)$/.exec(mark) ?? [];
  // A test, or a fixture of tests, that reads the document.
  if (test !== undefined) return existsSync(test) && read(test).includes(file);
  if (/^examples\/\S+#\S+$|^imports$|^none: \S/.test(mark)) return true;
  const isProgram =
    /^(?:(?:\$ )?(?:npx|npm|node|curl|docker|workspace-tasks|export)|import|const|let|await) /m;
  return language === "mermaid" || (language === "text" && !isProgram.test(text));
}

it("each block of the README and docs/ is copied from a tested file, run by a test that reads it, or says why not", () => {
  const pages = documents.filter((file) => /^README|^docs\//.test(file));
  const blocks = pages.flatMap((file) => blocksOf(read(file)).map((block) => ({ file, block })));
  expect(blocks.length).toBeGreaterThan(50);
  const unchecked = blocks.filter(({ file, block }) => !isChecked(file, block));
  expect(unchecked.map(({ file, block }) => `${file}:${block.line}`)).toEqual([]);
});

it("no link of a document, nor its anchor, is dead", () => {
  expect(deadLinks(".", documents)).toEqual([]);
});

/** Words that a person wrote and a person reads: without code, comments, targets of links and the versions that a program wrote. */
function wordsIn(text: string): number {
  const prose = text
    .replace(/<!-- projects:begin -->[\s\S]*?<!-- projects:end -->/, "")
    .replace(/^( *)```[\s\S]*?^\1```$/gm, "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/\]\([^)]*\)/g, "]");
  return prose.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

describe("the length of the documents", () => {
  // Written by programs, or a list of what has changed.
  const others = /^CHANGELOG|^docs\/benchmarks|\/receiver-reports\.md$/;
  const lengths = documents
    .filter((file) => !others.test(file))
    .map((file) => ({ file, words: wordsIn(read(file)) }));

  it("the documents together have at most 22,000 words, so that they can be read to the end", () => {
    expect(lengths.reduce((sum, { words }) => sum + words, 0)).toBeLessThanOrEqual(22_000);
  });

  it("no page but the table of errors has more than 1,500 words", () => {
    const long = lengths.filter(({ file, words }) => words > 1_500 && file !== "docs/errors.md");
    expect(long).toEqual([]);
  });

  it("the count of words leaves out code, comments and targets of links", () => {
    const page =
      "# Two words\n\n<!-- a mark -->\n```ts\nconst code = 1;\n```\n\n| a [link here](target.md) | - |\n";
    expect(wordsIn(page)).toBe(5);
  });
});

it("every path that a document names exists, alone or in a command", () => {
  const named = documents.flatMap((file) =>
    [
      ...read(file).matchAll(
        /`(?:[^`\n]* )?((?:test|docs|examples|scripts|sdk|mock-server|receiver-kit)\/[^\s`*{}]+)(?: [^`\n]*)?`/g,
      ),
    ].map(([, path = ""]) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
});

describe("the imports that a page shows", () => {
  const block =
    "<!-- examples/rotate-secret.ts#receiver -->\n```ts\nconst secrets = signingSecrets(store);\n```\n";

  it("a page with code that needs an import of this project, and no place for it, is rejected", () => {
    expect(() => withImports(block)).toThrow('import { signingSecrets } from "@workspace-tasks/sdk";');
  });

  it("a page with a place for imports gets those that its code needs", () => {
    expect(withImports(`<!-- imports -->\n\`\`\`ts\n\`\`\`\n\n${block}`)).toContain(
      '```ts\nimport { signingSecrets } from "@workspace-tasks/sdk";\n```',
    );
  });
});

describe("docs/errors.md", () => {
  const [, sdk = "", receiver = ""] = read("docs/errors.md").split(/^## (?:SDK|Receiver)$/m);

  it.each([
    ["the SDK", sdk, errorCodes],
    ["the receiver kit", receiver, receiverErrorCodes],
  ])("docs/errors.md explains every code of %s once, and no other", (_, section, codes) => {
    const explained = section.matchAll(
      // The code, perhaps a status, when it comes, and what to do.
      /^\| `([A-Z0-9_]+)` (?:\| \d+ )?\| [^|]+ \| [^|]+ \|$/gm,
    );
    expect(Array.from(explained, ([, code]) => code).toSorted()).toEqual(codes.toSorted());
  });

  it("docs/errors.md says the status of every rejected request", () => {
    const statuses = receiver.matchAll(/^\| `([A-Z0-9_]+)` \| (\d+) \|/gm);
    expect(Object.fromEntries(Array.from(statuses, ([, code, status]) => [code, Number(status)]))).toEqual(
      rejectionStatuses,
    );
  });
});

/** Messages of TypeScript, Node, Jest, Babel and Express. */
const foreignMessages = new Set([
  "Cannot use import statement outside a module",
  "argument handler must be a function",
  "requires a callback function",
  'Unexpected token, expected "from"',
  "Must use import to load ES Module",
]);

it("docs/troubleshooting.md quotes messages that exist", () => {
  const page = read("docs/troubleshooting.md");
  const sources = projectFiles(".", ".ts")
    .filter((file) => /^(sdk|mock-server|receiver-kit)\//.test(file))
    .map(read)
    .join("\n");
  const quoted = page.split("\n").flatMap((line) => /^\| `([^`]* [^`]*)`/.exec(line)?.[1] ?? []);
  const ours = quoted.filter((text) => !foreignMessages.has(text));
  expect(ours.length).toBeGreaterThan(1);
  const parts = ours.flatMap((text) => text.split("…").map((part) => part.replace(/^--\w+: /, "").trim()));
  expect(parts.filter((part) => !sources.includes(part))).toEqual([]);
});

it("docs/concepts.md names every event", () => {
  const concepts = read("docs/concepts.md");
  expect(knownEventNames.filter((name) => !concepts.includes(`\`${name}\``))).toEqual([]);
});

it("docs/mock-server.md names every kind of fault", () => {
  const guide = read("docs/mock-server.md");
  const kinds = [apiFaultSchema, deliveryFaultSchema].flatMap(({ options }) =>
    options.map(({ shape }) => shape.kind.value),
  );
  expect(kinds.filter((kind) => !guide.includes(`\`${kind}\``))).toEqual([]);
});
