// systemd-analyze: that of this machine, or else of the package of the distribution.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

interface Program {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

type Found = Program | { readonly missing: string };
let found: Found | undefined;

/** The program, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findSystemdAnalyze(): Found {
  found ??= find();
  return found;
}

function find(): Found {
  if (works({ program: "systemd-analyze", env: {} })) return { program: "systemd-analyze", env: {} };
  const unpacked = unpackedPackage("systemd");
  if ("missing" in unpacked) return { missing: `systemd-analyze is not installed, and ${unpacked.missing}` };
  const libraries = readdirSync(path.join(unpacked.folder, "usr/lib"))
    .filter((name) => name.endsWith("-linux-gnu"))
    .map((name) => path.join(unpacked.folder, "usr/lib", name));
  const folders = libraries.flatMap((folder) => [folder, path.join(folder, "systemd")]);
  for (const folder of ["usr/bin", "bin"]) {
    const program = path.join(unpacked.folder, folder, "systemd-analyze");
    const env = { LD_LIBRARY_PATH: folders.join(":") };
    if (works({ program, env })) return { program, env };
  }
  return { missing: "the systemd-analyze of the distribution does not run here" };
}

const works = ({ program, env }: Program): boolean =>
  spawnSync(program, ["--version"], { timeout: 30_000, env: { ...process.env, ...env } }).status === 0;

/** What systemd says about a unit file; empty when it has nothing to say. */
export function verifyUnit(file: string): string {
  const analyze = findSystemdAnalyze();
  if ("missing" in analyze) throw new Error(analyze.missing);
  const { stdout, stderr, error } = spawnSync(analyze.program, ["verify", "--man=no", file], {
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, ...analyze.env },
  });
  if (error) throw error;
  // It also reads the other units of this machine.
  return `${stdout}${stderr}`
    .split("\n")
    .filter((line) => line.includes(path.basename(file)))
    .join("\n");
}
