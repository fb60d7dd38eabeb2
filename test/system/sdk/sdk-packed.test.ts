import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";

interface Walk {
  readonly entry: string;
  readonly ok: boolean;
  readonly output: string;
  /** URLs and paths of every module that was loaded. */
  readonly modules: readonly string[];
}

let walks: readonly Walk[];

beforeAll(async () => {
  if (!existsSync("sdk/dist/index.js")) throw new Error("there is nothing to pack: run npm run build first");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "test/gates/runtime-matrix.mjs", "--json", "current"],
    { maxBuffer: 16 * 1_048_576 },
  );
  walks = JSON.parse(stdout) as Walk[];
}, 120_000);

describe("the packed tarball in a project without the optional peers", () => {
  it.each(["with-import.mjs", "with-require.cjs", "with-require.cjs, CommonJS"])(
    "the packed SDK works %s",
    (entry) => {
      const walk = walks.find((each) => each.entry === entry);
      expect(walk).toMatchObject({ ok: true, output: "all steps passed\n" });
    },
  );

  it("the packed SDK loads at most four files, nothing of an import, and no other package", () => {
    const loaded = walks.find(({ entry }) => entry === "with-import.mjs")?.modules ?? [];
    const loadedFrom = (part: string) => loaded.filter((module) => module.includes(part));
    const own = loadedFrom("/@workspace-tasks/").map(pathInPackage);
    expect(own[0]).toBe("dist/index.js");
    expect(own.length).toBeLessThanOrEqual(4);
    expect(own.filter((file) => /import-run|wait-for-tasks/.test(file))).toEqual([]);

    // Node's crypto costs as much as all of the SDK; fetch loads it when the first call is sent.
    expect(loaded).not.toContain("node:crypto");

    const packages = new Set(loadedFrom("/node_modules/").map((module) => packageOf(module)));
    expect([...packages]).toEqual(["@workspace-tasks/sdk"]);
  });
});

const pathInPackage = (module: string) => module.slice(module.lastIndexOf("/dist/") + 1);
const packageOf = (module: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1];
