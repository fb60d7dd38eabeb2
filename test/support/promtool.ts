// promtool, which reads what Prometheus reads: that of this machine, or else of the package of the distribution.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

type Found = { readonly program: string } | { readonly missing: string };
let found: Found | undefined;

/** The program, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findPromtool(): Found {
  found ??= find();
  return found;
}

function find(): Found {
  if (spawnSync("promtool", ["--version"], { timeout: 30_000 }).status === 0) return { program: "promtool" };
  const unpacked = unpackedPackage("prometheus");
  if ("missing" in unpacked) return { missing: `promtool is not installed, and ${unpacked.missing}` };
  return { program: path.join(unpacked.folder, "usr/bin/promtool") };
}
