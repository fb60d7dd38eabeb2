import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  markRun,
  openState,
  type ProofFolders,
  recordState,
  type ScopeResult,
  saveState,
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

const options = { from: 1, fresh: false };
const scope: ScopeResult = {
  ...{ schedules: 7, states: 5, ends: 1, depth: 3, elapsedMs: 10, isComplete: true, violation: null },
};

function run(count: number): void {
  const state = openState(options, folders);
  markRun(state.seeds, { from: state.seeds.next, to: state.seeds.next + count });
  saveState(state, "seeds", folders);
  recordState(state, "seeds", folders);
}

it("a run continues what was done on this machine", () => {
  run(10);
  expect(openState(options, folders).seeds).toMatchObject({ next: 11, count: 10 });
  expect(openState({ ...options, fresh: true }, folders).seeds).toMatchObject({ next: 1, count: 0 });
});

it("a run on another machine continues what was recorded, and then its own", () => {
  run(10);
  const state = openState(options, elsewhere);
  expect(state.seeds).toMatchObject({ next: 11, count: 10 });
  markRun(state.seeds, { from: 11, to: 31 });
  saveState(state, "seeds", elsewhere);
  expect(openState(options, elsewhere).seeds.next).toBe(31);
  expect(openState(options, folders).seeds.next).toBe(11);
});

it("a run does not continue what was recorded with other sources", () => {
  run(10);
  const path = join(folders.recorded, "seeds.json");
  const recorded = readFileSync(path, "utf8");
  writeFileSync(path, recorded.replace(/"hash": "\w+"/, '"hash": "of-others"'));
  expect(openState(options, elsewhere).seeds.next).toBe(1);
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
