import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withHelpTexts } from "../../scripts/cli-docs.ts";
import { withControlApi } from "../../scripts/control-api-table.ts";
import { blocksOf, type MarkedBlock, regionOf, withExamples } from "../../scripts/marked-blocks.ts";
import { withImports } from "../../scripts/page-imports.ts";
import { projectFiles } from "../../scripts/project-files.mjs";
import { scaleDocument, withScaleTables } from "../../scripts/scale-tables.ts";

// packed-install.test.ts runs the shell blocks of the README.

const documents = projectFiles(".", ".md").filter((file) => !file.startsWith("docs/api/"));
const read = (file: string) => readFileSync(file, "utf8");

const isProgram = (language: string) => /^(ts|js|tsx|mjs|typescript|javascript)$/.test(language);
const programs = documents.flatMap((file) =>
  blocksOf(read(file))
    .filter(
      ({ language, mark }) =>
        (isProgram(language) && mark !== "imports") || /^(?:examples|\.ci)\//.test(mark),
    )
    .map((block) => ({ ...block, place: `${file}:${block.line}` })),
);

describe("code in the documents", () => {
  it("includes more than three blocks of the README", () => {
    expect(programs.filter(({ place }) => place.startsWith("README.md")).length).toBeGreaterThan(3);
  });

  it.each(programs)(
    "the code at $place equals the region of the example that it names ($mark)",
    ({ mark, text }) => {
      expect(mark).toMatch(/^(?:examples|\.ci)\/\S+#\S+$/);
      expect(text).toBe(regionOf(mark));
    },
  );
});

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
  const pages = documents.filter((file) => /^README|^docs\/(?!decisions\/)/.test(file));

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

describe("the imports of a page", () => {
  it.each(documents)("%s shows those that its code needs", (file) => {
    const page = read(file);
    expect(withImports(page)).toBe(page);
  });

  it("have the names that its code uses and no other block imports", () => {
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
});

describe("@example in the sources", () => {
  const sources = projectFiles(".", ".ts").filter((file) => /^(sdk|mock-server|receiver-kit)\//.test(file));
  const examples = sources.filter((file) => /^ *\* @example/m.test(read(file)));

  it.each(examples)("the @example in %s equals the region of the example that it names", (file) => {
    const source = read(file);
    expect(source.match(/^ *\* @example(?! examples\/\S+#\S+$).*/gm)).toBeNull();
    expect(withExamples(source)).toBe(source);
  });
});

it("the table of the control API in docs/mock-server.md equals the OpenAPI document of the mock", async () => {
  const guide = read("docs/mock-server.md");
  expect(await withControlApi(guide)).toBe(guide);
  expect(await withControlApi("<!-- control-api:begin -->\n<!-- control-api:end -->\n")).toContain(
    "`POST /clock/advance`",
  );
});

it("the tables of docs/scale.md follow from the recorded benchmarks and chaos runs", () => {
  const page = read(scaleDocument);
  expect(withScaleTables(page)).toBe(page);
  expect(page).toMatch(/\| RabbitMQ \| three nodes together \| \d+ µs \|/);
});

it("docs/cli.md has the help text of every command", async () => {
  const page = read("docs/cli.md");
  expect(await withHelpTexts(page)).toBe(page);
  const program = read("bin/workspace-tasks.js");
  const names = [...program.matchAll(/^ {4}"?([a-z-]+)"?: command\(/gm)].map(([, name]) => name);
  const headings = [...page.matchAll(/^### ([a-z-]+)$/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(8);
  expect(headings).toEqual(names);
  expect(page).toContain("### inbox list\n");
  const commands = page.slice(page.indexOf("<!-- commands:begin -->"));
  expect(commands.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

it("the checks detect a block without a mark and a block that differs from its region", () => {
  const [unmarked] = blocksOf("text\n\n```ts\nlet a;\n```\n");
  expect(unmarked).toMatchObject({ language: "ts", mark: "", text: "let a;\n", line: 3 });
  const [stale] = blocksOf("<!-- examples/first-request.ts#first-request -->\n```ts\nlet a;\n```\n");
  expect(stale?.text).not.toBe(regionOf(stale?.mark ?? ""));
  expect(() => regionOf("examples/first-request.ts#none")).toThrow("there is no region");
});

describe("paths in the documents", () => {
  const named = documents.flatMap((file) =>
    [
      ...read(file).matchAll(
        /`((?:test|docs|examples|scripts|bench|sdk|mock-server|receiver-kit)\/[^\s`*{}]+)`/g,
      ),
    ].map(([, path = ""]) => ({ file, path })),
  );

  it("more than ten paths are found", () => expect(named.length).toBeGreaterThan(10));

  it("every path exists", () => {
    expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
  });
});

it("the README has at most 201 lines", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(201);
});
