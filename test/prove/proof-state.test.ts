import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  nextSeeds,
  openState,
  type ProofFolders,
  recordState,
  type ScopeResult,
  saveState,
  unionOf,
} from "./proof-state.ts";

let folders: ProofFolders;
let elsewhere: ProofFolders;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "proof-"));
  const recorded = join(folder, "recorded");
  folders = { kept: join(folder, "kept"), recorded };
  elsewhere = { kept: join(folder, "elsewhere"), recorded };
});
afterEach(() => rmSync(join(folders.recorded, ".."), { recursive: true }));

const options = { fresh: false };
const scope: ScopeResult = {
  ...{ schedules: 7, states: 5, ends: 1, depth: 3, elapsedMs: 10, isComplete: true, violation: null },
};

function runFirstTen(): void {
  const state = openState(options, folders);
  state.seeds.spans = [{ from: 1, to: 11 }];
  saveState(state, "seeds", folders);
  recordState(state, "seeds", folders);
}

it("a run continues what was done on this machine", () => {
  runFirstTen();
  expect(openState(options, folders).seeds.spans).toEqual([{ from: 1, to: 11 }]);
  expect(openState({ fresh: true }, folders).seeds.spans).toEqual([]);
});

it("a run on another machine continues what was recorded, and then its own", () => {
  runFirstTen();
  const state = openState(options, elsewhere);
  expect(state.seeds.spans).toEqual([{ from: 1, to: 11 }]);
  state.seeds.spans = [{ from: 1, to: 31 }];
  saveState(state, "seeds", elsewhere);
  expect(openState(options, elsewhere).seeds.spans).toEqual([{ from: 1, to: 31 }]);
  expect(openState(options, folders).seeds.spans).toEqual([{ from: 1, to: 11 }]);
});

it("a run does not continue what was recorded with other sources", () => {
  runFirstTen();
  const path = join(folders.recorded, "seeds.json");
  const recorded = readFileSync(path, "utf8");
  writeFileSync(path, recorded.replace(/"hash": "\w+"/, '"hash": "of-others"'));
  expect(openState(options, elsewhere).seeds.spans).toEqual([]);
});

it("of recorded scopes only the complete ones are continued", () => {
  const state = openState(options, folders);
  const scopes = { whole: scope, part: { ...scope, isComplete: false } };
  Object.assign(state.scopes, scopes);
  saveState(state, "explorer", folders);
  recordState(openState(options, folders), "explorer", folders);
  expect(openState(options, folders).scopes).toEqual(scopes);
  expect(openState(options, elsewhere).scopes).toEqual({ whole: scope });
});

it("seeds that have run or that another process runs are skipped", () => {
  const taken = unionOf([
    { from: 51, to: 101 },
    { from: 1, to: 51 },
    { from: 121, to: 201 },
    { from: 130, to: 140 },
  ]);
  expect(taken).toEqual([
    { from: 1, to: 101 },
    { from: 121, to: 201 },
  ]);
  expect(nextSeeds(taken, 1, 50)).toEqual({ from: 101, to: 121 });
  expect(nextSeeds(taken, 1, 5)).toEqual({ from: 101, to: 106 });
  expect(nextSeeds(taken, 150, 50)).toEqual({ from: 201, to: 251 });
  expect(nextSeeds(taken, 1_000, 50)).toEqual({ from: 1_000, to: 1_050 });
});
