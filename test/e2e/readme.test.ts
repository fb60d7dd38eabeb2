import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { projectFiles } from "../../scripts/project-files.mjs";
import { withControlApi } from "../support/control-api-table.ts";
import { blocksOf, regionOf } from "../support/marked-blocks.ts";

// What the shell blocks of the README promise is run, line by line, in packed-install.test.ts.

const documents = projectFiles(".", ".md");
const read = (file: string) => readFileSync(file, "utf8");

const programs = documents.flatMap((file) =>
  blocksOf(read(file))
    .filter(({ language }) => /^(ts|js|tsx|mjs|typescript|javascript)$/.test(language))
    .map((block) => ({ ...block, place: `${file}:${block.line}` })),
);

describe("code in the documents", () => {
  test("is found", () => {
    expect(programs.filter(({ place }) => place.startsWith("README.md")).length).toBeGreaterThan(3);
  });

  test.each(programs)("at $place is a marked region of an example ($mark)", ({ mark, text }) => {
    expect(mark).toMatch(/^examples\/\S+\.ts#\S+$/);
    expect(text).toBe(regionOf(mark));
  });
});

test("the table of the control API is what the mock says of itself", async () => {
  const guide = read("docs/mock-server.md");
  expect(await withControlApi(guide)).toBe(guide);
  expect(await withControlApi("<!-- control-api:begin -->\n<!-- control-api:end -->\n")).toContain(
    "`POST /clock/advance`",
  );
});

test("a block without a mark, and one that has gone stale, would be noticed", () => {
  const [unmarked] = blocksOf("text\n\n```ts\nlet a;\n```\n");
  expect(unmarked).toMatchObject({ language: "ts", mark: "", text: "let a;\n", line: 3 });
  const [stale] = blocksOf("<!-- examples/first-request.ts#first-request -->\n```ts\nlet a;\n```\n");
  expect(stale?.text).not.toBe(regionOf(stale?.mark ?? ""));
  expect(() => regionOf("examples/first-request.ts#none")).toThrow("there is no region");
});

describe("files that the documents name", () => {
  const named = documents.flatMap((file) =>
    [
      ...read(file).matchAll(
        /`((?:test|docs|examples|scripts|bench|sdk|mock-server|receiver-kit)\/[^\s`*{}]+)`/g,
      ),
    ].map(([, path = ""]) => ({ file, path })),
  );

  test("are found", () => expect(named.length).toBeGreaterThan(10));

  test("are there", () => {
    expect(named.filter(({ path }) => !existsSync(path))).toEqual([]);
  });
});

test("the README can be read in one sitting", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(201);
});
