import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { nodeProblem, oldestNode, version, versionMismatch } from "../../../../sdk/kernel/version.ts";

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8"));
const root: Manifest & { readonly workspaces: readonly string[] } = readJson("package.json");
const manifests: readonly Manifest[] = root.workspaces.map((folder) => readJson(`${folder}/package.json`));
const names = new Set(manifests.map(({ name }) => name));

describe("nodeProblem", () => {
  it.each([root, ...manifests].filter(({ engines }) => engines))(
    "asks for the Node of $name's engines",
    ({ engines }) => {
      expect(engines).toEqual({ node: `>=${oldestNode}` });
    },
  );

  it.each([
    [{ node: "18.20.4" }, "got 18.20.4"],
    [{ node: "20.9.0" }, "got 20.9.0"],
    [{ node: oldestNode }, undefined],
    [{ node: "24.0.0" }, undefined],
    [{ node: "25.0.0-nightly20260101" }, undefined],
    [{ node: "18.0.0", bun: "1.2.0" }, undefined],
    [{}, undefined],
  ])("of %j is %s", (versions, problem) => {
    const found = nodeProblem(versions);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });
});

describe("the version", () => {
  it.each([root, ...manifests])("of $name is that of every package", (manifest) => {
    expect(manifest.version).toBe(version);
  });

  it.each(manifests)("of $name's dependencies in this repository is exact", (manifest) => {
    const { dependencies, peerDependencies, devDependencies } = manifest;
    const all = Object.entries({ ...dependencies, ...peerDependencies, ...devDependencies });
    const own = all.filter(([name]) => names.has(name));
    expect(own).toEqual(own.map(([name]) => [name, version]));
  });

  it("in the lock file is that of every package", () => {
    const { packages: locked } = readJson("package-lock.json");
    const found = ["", ...root.workspaces].map((folder) => locked[folder].version);
    expect(new Set(found)).toEqual(new Set([version]));
  });

  it("heads the changelog", () => {
    expect(/^## (\S+)/m.exec(readFileSync("CHANGELOG.md", "utf8"))?.[1]).toBe(version);
  });
});

describe("packages of different versions", () => {
  const mismatchOf = (found: string | undefined) => versionMismatch("@example/user", "@example/used", found);

  it("are named, with what to install", () => {
    expect(mismatchOf("0.0.9")).toBe(
      `expected @example/used ${version}, the version of @example/user, got 0.0.9; install the same version of both: ` +
        `npm install @example/user@${version} @example/used@${version}`,
    );
  });

  it("include one that does not say its version", () => {
    expect(mismatchOf(undefined)).toContain("got one that names no version;");
  });

  it("are none when the versions are equal", () => {
    expect(mismatchOf(version)).toBeUndefined();
  });
});
