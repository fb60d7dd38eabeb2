// As a property: an import by name would end an older Node before its version can be named.

import crypto from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Hashing } from "../world/random.ts";

/** The files of the inspector's build, by their path below the page; none when it is not built, or in a bundle. */
export function readPageFiles(folder = builtPage()): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  if (folder === undefined || !existsSync(join(folder, "assets"))) return new Map();
  const assets = readdirSync(join(folder, "assets")).map((name) => `assets/${name}`);
  return new Map(
    ["index.html", ...assets].map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))]),
  );
}

/** Resolved from the package, so that sources and build find the page in the same place. */
function builtPage(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve("@workspace-tasks/mock-server/package.json");
    return join(dirname(manifest), "dist/inspector");
  } catch {
    // A bundle may have neither an address of its own nor a package beside it.
    return undefined;
  }
}

export const nodeHashing: Hashing = {
  sha256: (text) => crypto.hash("sha256", text),
  hmacSha256: (key, text) => crypto.createHmac("sha256", key).update(text).digest(),
};
