import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";

interface Walk {
  readonly entry: string;
  readonly ok: boolean;
  readonly output: string;
  /** URLs and paths of every module that was loaded. */
  readonly modules: readonly string[];
}

let walks: readonly Walk[];

beforeAll(async () => {
  if (!existsSync("dist/sdk/index.js")) throw new Error("there is nothing to pack: run npm run build first");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["scripts/node-matrix.mjs", "--json", "current"],
    { maxBuffer: 16 * 1_048_576 },
  );
  walks = JSON.parse(stdout) as Walk[];
}, 120_000);

describe("the packed tarball, in a project without the optional peers", () => {
  test.each(["with-import.mjs", "with-require.cjs"])("carries the SDK %s", (entry) => {
    const walk = walks.find((each) => each.entry === entry);
    expect(walk).toMatchObject({ ok: true, output: `walked on ${process.version}\n` });
  });

  test("loads for the SDK neither the mock, the receiver nor an optional peer", () => {
    const loaded = walks.find(({ entry }) => entry === "with-import.mjs")?.modules ?? [];
    const loadedFrom = (part: string) => loaded.filter((module) => module.includes(part));
    // The log is not blind: what the SDK is made of stands in it.
    expect(loadedFrom("workspace-tasks/dist/sdk/engine/engine.js")).toHaveLength(1);
    expect(loadedFrom("node_modules/graphql-request/").length).toBeGreaterThan(0);

    expect(loadedFrom("/dist/mock-server/")).toEqual([]);
    expect(loadedFrom("/dist/receiver-kit/")).toEqual([]);
    for (const peer of ["express", "msw", "pg", "libsql", "better-sqlite3", "vitest", "standardwebhooks"]) {
      expect(loadedFrom(`node_modules/${peer}/`)).toEqual([]);
    }
  });
});
