// The model checker SPIN and the C compiler that it needs: those of this machine, or else the unpacked packages of the
// distribution.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

export interface SpinTools {
  readonly spin: string;
  readonly compiler: string;
  readonly compilerFlags: readonly string[];
  /** SPIN calls `gcc` as its preprocessor. */
  readonly env: Readonly<Record<string, string>>;
}

type Found = SpinTools | { readonly missing: string };
let found: Found | undefined;

/** The programs, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findSpin(): Found {
  found ??= find();
  return found;
}

function find(): Found {
  const hasSpin = runs("spin", "-V");
  const hasCompiler = runs("gcc", "--version");
  const searchPath = process.env["PATH"] ?? "";
  const installed = { spin: "spin", compiler: "gcc", compilerFlags: [], env: { PATH: searchPath } };
  if (hasSpin && hasCompiler) return installed;
  // The headers of the C library are only recommended by the compiler's package.
  const unpacked = unpackedPackage("spin", hasCompiler ? [] : ["gcc", "libc6-dev"]);
  if ("missing" in unpacked) {
    const programs = [hasSpin ? "" : "SPIN", hasCompiler ? "" : "gcc"].filter(Boolean).join(" and ");
    return { missing: `${programs} not installed, and ${unpacked.missing}` };
  }
  const bin = path.join(unpacked.folder, "usr/bin");
  const spin = hasSpin ? "spin" : path.join(bin, "spin");
  if (hasCompiler) return { ...installed, spin };
  const compiler = path.join(bin, "gcc");
  if (!existsSync(compiler)) return { missing: `${unpacked.folder} contains no gcc; delete it` };
  const [libraries] = linkLibraries(unpacked.folder);
  return {
    ...{ spin, compiler },
    compilerFlags: [`--sysroot=${unpacked.folder}`, "-static-libgcc"],
    env: { PATH: `${bin}:${searchPath}`, LD_LIBRARY_PATH: libraries ?? "" },
  };
}

/** The C library itself is installed everywhere, so it is not unpacked; the linker looks for it in the folder. */
function linkLibraries(root: string): readonly string[] {
  const names = readdirSync("/lib").filter((name) => name.endsWith("-linux-gnu"));
  for (const place of [...names.map((name) => `lib/${name}`), "lib64"]) {
    const link = path.join(root, place);
    if (!existsSync(link) && existsSync(`/${place}`)) symlinkSync(`/${place}`, link);
  }
  return names.map((name) => path.join(root, "usr/lib", name)).filter(existsSync);
}

const runs = (program: string, argument: string) =>
  spawnSync(program, [argument], { stdio: "ignore", timeout: 30_000 }).status === 0;
