import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { findingMutants } from "./finding-mutants.ts";
import { placePatches } from "./place-patches.ts";

it.each(findingMutants)("the mutant $name matches the sources, and its tests exist", (mutant) => {
  expect(placePatches(mutant)).not.toEqual([]);
  expect(mutant.tests.filter((path) => !existsSync(path))).toEqual([]);
});

it("no two mutants have the same name", () => {
  const names = findingMutants.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});
