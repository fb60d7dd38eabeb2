import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { explorerMutants } from "../explorer/explorer-mutants.ts";
import { findingMutants } from "./finding-mutants.ts";
import { placePatches, placesOf } from "./place-patches.ts";

it.each(findingMutants)("the mutant $name matches the sources, and its tests exist", (mutant) => {
  expect(placePatches(mutant)).not.toEqual([]);
  expect(mutant.tests.filter((path) => !existsSync(path))).toEqual([]);
});

it.each(explorerMutants)("the explorer's mutant $name matches the sources", ({ patches }) => {
  for (const { find } of patches) {
    expect(["sdk", "receiver-kit"].flatMap((folder) => placesOf(folder, find))).toHaveLength(1);
  }
});

it("no two mutants have the same name", () => {
  const names = findingMutants.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});
