// What the results of each part depend on. They are kept by the hash of these files, so a commit that changes none of them
// loses no result.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";

export const proofParts = ["mutants", "model", "explorer", "seeds", "differential"] as const;
export type ProofPart = (typeof proofParts)[number];

export const root = resolve(import.meta.dirname, "../..");

const products = ["sdk", "mock-server", "receiver-kit", "schema.graphql", "package-lock.json"];
const bundling = ["test/simulation/import-bundle.ts", "test/simulation/patched-product.ts"];

const inputs: Readonly<Record<ProofPart, readonly string[]>> = {
  mutants: [...products, "cli", "bin", "examples", "test"],
  model: ["receiver-kit", "sdk/events", "test/model", "test/support", "package-lock.json"],
  explorer: ["sdk", "receiver-kit", "test/explorer", ...bundling, "package-lock.json"],
  seeds: [...products, "test/simulation", "test/support/latency.ts", "test/support/wrap-inbox.ts"],
  differential: [...products, "test/differential", "test/support", "bench/peers/package-lock.json"],
};

/** Folders of the products that the simulation and the explorer do not load. */
const notLoaded: Readonly<Partial<Record<ProofPart, RegExp>>> = {
  explorer: /^receiver-kit\/(?:audit|cli|inbox\/postgres|middleware|rabbitmq|telemetry|testing)\//,
  seeds:
    /^(?:mock-server\/(?:cli|compare)|receiver-kit\/(?:audit|cli|inbox\/(?:postgres|sqlite)|middleware|rabbitmq|telemetry|testing))\//,
};

const isSource = (path: string) => /\.(?:[cm]?[jt]sx?|json|css|graphql|pml)$/.test(path);
/** The page of the mock is not loaded, results are no sources, and the other parts run no test files and no mutants. */
const isUnused = (part: ProofPart, path: string) =>
  /node_modules|inspector[/\\]page|prove[/\\]recorded/.test(path) ||
  notLoaded[part]?.test(path) ||
  (part !== "mutants" && /\.test\.ts$|(?:simulation[/\\]|explorer-)mutants\.ts$/.test(path));

export interface SourceState {
  /** Of all files that the part depends on. */
  readonly hash: string;
  /** The commit, and whether these files differ from it. */
  readonly commit: string;
}

/** @param status what `git status --porcelain` prints */
export const isChanged = (part: ProofPart, status: string): boolean =>
  status.split("\n").some((line) => isSource(line) && !isUnused(part, line.slice(3)));

export const sourceFilesOf = (part: ProofPart): readonly string[] =>
  inputs[part]
    .flatMap(filesBelow)
    .filter((path) => isSource(path) && !isUnused(part, path))
    .sort();

export function sourcesOf(part: ProofPart): SourceState {
  const hash = createHash("sha256");
  for (const path of sourceFilesOf(part))
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  const git = (...words: string[]) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trimEnd();
  const status = git("status", "--porcelain", "--untracked-files=all", "--", ...inputs[part]);
  const changed = isChanged(part, status) ? " with changes" : "";
  return {
    hash: hash.digest("hex").slice(0, 12),
    commit: `${git("rev-parse", "--short", "HEAD")}${changed}`,
  };
}

function filesBelow(path: string): readonly string[] {
  const full = join(root, path);
  if (statSync(full).isFile()) return [path];
  const entries = readdirSync(full, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
}
