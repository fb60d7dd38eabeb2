// Test files share a worker, because importing the sources once per file costs more CPU time than most tests. What a
// file leaves changed in the process fails that file here, and not a later one that has nothing to do with it.

import { randomInt } from "node:crypto";
import fc from "fast-check";
import { afterAll } from "vitest";
import { atDepth } from "./depth.ts";

// A property that fails by chance would fail a change that has nothing to do with it.
fc.configureGlobal({ seed: atDepth(1, randomInt(2 ** 31)) });

const runnerGlobals = [
  "beforeAll",
  "beforeEach",
  "afterEach",
  "afterAll",
  "describe",
  "it",
  "test",
  "expect",
];
const events = ["uncaughtException", "unhandledRejection", "SIGINT", "SIGTERM", "SIGHUP", "beforeExit"];

function processState(): ReadonlyMap<string, unknown> {
  const { fetch, setTimeout, setInterval, setImmediate, queueMicrotask } = globalThis;
  const { log, info, warn, error, debug } = console;
  const { emitWarning, exit, kill } = process;
  return new Map<string, unknown>([
    ...prefixed("", { fetch, setTimeout, setInterval, setImmediate, queueMicrotask }),
    ...prefixed("console.", { log, info, warn, error, debug }),
    ...prefixed("process.", { emitWarning, exit, kill }),
    ...prefixed("process.env.", process.env),
    ["process.cwd()", process.cwd()],
    ["process.stdout.write", process.stdout.write],
    ["process.stderr.write", process.stderr.write],
    ...runnerGlobals.map((name) => [name, Reflect.get(globalThis, name)] as const),
    ["Date", Date],
    ["Date.now", Date.now],
    ["Math.random", Math.random],
    ["performance.now", performance.now],
    ...events.map((event) => [`the listeners of ${event}`, ownListeners(event)] as const),
  ]);
}

/** Without that of the receiver kit, which stays while a receiver runs: a simulated crash stops none. */
const ownListeners = (event: string) =>
  process.rawListeners(event).filter(({ name }) => name !== "onQueryRejection").length;

function prefixed(prefix: string, values: object): [string, unknown][] {
  return Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]);
}

const before = processState();

afterAll(() => {
  const after = processState();
  const names = new Set([...before.keys(), ...after.keys()]);
  const changed = [...names].filter((name) => before.get(name) !== after.get(name));
  if (changed.length > 0) throw new Error(`the test file does not restore ${changed.join(", ")}`);
});
