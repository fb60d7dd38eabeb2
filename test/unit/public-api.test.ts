import { describe, expect, it } from "vitest";
import { entryPoints, exportsOf } from "../support/public-exports.ts";

// The exports of the entry points are the public API. A removal or a rename is a breaking change.
// `npx vitest run test/unit/public-api.test.ts -u` accepts a change; the changelog lists it.

const surface = entryPoints().map(({ specifier, source }) => ({
  name: specifier,
  exported: exportsOf(source),
}));

it("the exports of every entry point equal public-api.txt", async () => {
  const page = surface.map(
    ({ name, exported }) =>
      `${name}\n${exported.map((each) => `  ${each.isType ? "type " : ""}${each.name}\n`).join("")}`,
  );
  await expect(page.join("\n")).toMatchFileSnapshot("public-api.txt");
});

describe("every entry point at run time", () => {
  it.each(surface)("$name exports the values of its source text", async ({ name, exported }) => {
    const module = (await import(name)) as object;
    const values = exported.filter(({ isType }) => !isType).map((each) => each.name);
    expect(Object.keys(module).sort()).toEqual(values);
  });
});

it("the check rejects export * and finds all other exports", () => {
  expect(() => exportsOf("a.ts", 'export * from "./b.ts";')).toThrow("without names");
  expect(exportsOf("a.ts", "export type A = 1; export const b = 1, c = 2; const d = 3;")).toEqual([
    { name: "A", isType: true },
    { name: "b", isType: false },
    { name: "c", isType: false },
  ]);
});
