import { expect, it } from "vitest";
import { importBundle } from "../simulation/import-bundle.ts";
import { isChanged, sourceFilesOf } from "./proof-inputs.ts";

it.each([
  ["seeds", "test/simulation/simulation-parts.ts"],
  ["explorer", "test/explorer/explored-parts.ts"],
  ["explorer", "sdk/index.ts"],
] as const)("the results of the %s depend on each file that %s loads", async (part, entry) => {
  using bundle = await importBundle(entry);
  const files = sourceFilesOf(part);
  expect(bundle.sources.length).toBeGreaterThan(40);
  expect(bundle.sources.filter((path) => !files.includes(path))).toEqual([]);
});

it("recorded results do not count as changes of the files that they depend on", () => {
  const results = " M test/prove/recorded/seeds.json\n?? test/prove/recorded/explorer.json";
  expect(isChanged("mutants", "")).toBe(false);
  expect(isChanged("mutants", results)).toBe(false);
  expect(isChanged("mutants", `${results}\n D test/prove/prove.ts`)).toBe(true);
});
