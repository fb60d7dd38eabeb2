// Programs of Debian and Ubuntu for the tests: their packages, downloaded by apt-get and unpacked into a folder of their own.
// Nothing is installed and nothing of the system changes. The folder gets its name when it is complete, so two test runs
// that start together do not share a partial copy.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

type Unpacked = { readonly folder: string } | { readonly missing: string };

/**
 * The folder with the files of a package and of everything that is not installed and that it depends on.
 */
export function unpackedPackage(name: string): Unpacked {
  const folder = path.join(tmpdir(), `workspace-tasks-${name}-${process.getuid?.() ?? "user"}`);
  if (fs.existsSync(folder)) {
    const { uid, mode } = fs.lstatSync(folder);
    if (uid !== process.getuid?.() || mode & 0o022)
      return { missing: `${folder} belongs to another user, or others may change it` };
    return { folder };
  }
  const memo = `${folder}.failed`;
  const isAll = process.env["WORKSPACE_TASKS_TESTS"] === "all";
  if (!isAll && fs.existsSync(memo) && Date.now() - fs.statSync(memo).mtimeMs < 24 * 3_600_000)
    return {
      missing: `${fs.readFileSync(memo, "utf8")} (tried again after a day, or once ${memo} is deleted)`,
    };
  const unpacking = fs.mkdtempSync(path.join(tmpdir(), "workspace-tasks-unpacking-"));
  try {
    const root = path.join(unpacking, "root");
    for (const file of download(name, unpacking)) run("dpkg-deb", ["-x", file, root], unpacking);
    fs.renameSync(root, folder);
    return { folder };
  } catch (error) {
    if (fs.existsSync(folder)) return { folder }; // Another run was faster.
    const missing = `the packages of ${name} cannot be downloaded: ${reasonOf(error)}`;
    fs.writeFileSync(memo, missing);
    return { missing };
  } finally {
    fs.rmSync(unpacking, { recursive: true, force: true });
  }
}

function download(wanted: string, folder: string): readonly string[] {
  const packages = path.join(folder, "packages");
  fs.mkdirSync(packages);
  const fetch = (options: readonly string[]) => {
    const simulated = run(
      "apt-get",
      [...options, "--simulate", "--no-install-recommends", "install", wanted],
      folder,
    );
    const names = [...simulated.matchAll(/^Inst (\S+)/gm)].map(([, found]) => found ?? "");
    if (names.length === 0) throw new Error("apt-get names no packages");
    run("apt-get", [...options, "download", ...names], packages);
  };
  try {
    fetch(aptOptions);
  } catch {
    // The lists of this machine are missing, or name versions that the server no longer has: lists of our own.
    const lists = path.join(folder, "lists");
    const cache = path.join(folder, "cache");
    for (const created of [lists, cache]) fs.mkdirSync(path.join(created, "partial"), { recursive: true });
    const own = [...aptOptions, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    run("apt-get", [...own, "update"], folder);
    fetch(own);
  }
  return fs.readdirSync(packages).map((file) => path.join(packages, file));
}

const aptOptions = [
  ...["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=15", "-o", "Acquire::https::Timeout=15"],
  // Nothing is written outside the folder, to which the user _apt has no access.
  ...["-o", `APT::Sandbox::User=${process.env["USER"] ?? "root"}`],
];

/** @throws when the program fails, with what it wrote last */
function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...{ cwd, encoding: "utf8", timeout: 180_000, env: { PATH: process.env["PATH"], LC_ALL: "C" } },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1) ?? `${program} ended with ${status}`);
  return stdout;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
