// RabbitMQ for the tests: the one of this machine, or else the packages of the distribution, downloaded by apt-get and
// unpacked into a folder of their own. Nothing is installed and nothing of the system changes. The folder gets its name
// when it is complete, so two test runs that start together do not share a partial copy.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface RabbitmqBinaries {
  /** Folder with `plugins`. */
  readonly home: string;
  /** Folder of the Erlang runtime, with `bin` and `erts-…`. */
  readonly erlangRoot: string;
  /** For the shared libraries of unpacked packages. */
  readonly libraryPath: string | undefined;
}

type Found = RabbitmqBinaries | { readonly missing: string };
let found: Found | undefined;

/** The programs, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findRabbitmq(): Found {
  found ??= installed() ?? unpacked();
  return found;
}

/** `rabbitmq-server` is a script below the home folder, or one that calls it. */
function installed(): RabbitmqBinaries | undefined {
  const homes = ["/usr/lib/rabbitmq/lib", "/usr/local/lib", "/opt", "/opt/homebrew/opt", "/usr/local/opt"]
    .flatMap((folder) => subfolders(folder, /^rabbitmq(_server.*|)$/))
    .filter((folder) => existsSync(path.join(folder, "plugins")));
  const [home] = homes;
  if (!home) return undefined;
  const evaluated = spawnSync(
    "erl",
    ["-boot", "no_dot_erlang", "-noinput", "-eval", 'io:format("~s", [code:root_dir()]), halt().'],
    { encoding: "utf8", timeout: 30_000 },
  );
  return evaluated.status === 0 ? { home, erlangRoot: evaluated.stdout, libraryPath: undefined } : undefined;
}

function unpacked(): Found {
  const folder = path.join(tmpdir(), `workspace-tasks-rabbitmq-${process.getuid?.() ?? "user"}`);
  if (existsSync(folder)) {
    const { uid, mode } = lstatSync(folder);
    if (uid !== process.getuid?.() || mode & 0o022)
      return { missing: `${folder} belongs to another user, or others may change it` };
    return binariesIn(folder);
  }
  const memo = `${folder}.failed`;
  const isAll = process.env["WORKSPACE_TASKS_TESTS"] === "all";
  if (!isAll && existsSync(memo) && Date.now() - statSync(memo).mtimeMs < 24 * 3_600_000)
    return { missing: `${readFileSync(memo, "utf8")} (tried again after a day, or once ${memo} is deleted)` };
  const unpacking = mkdtempSync(path.join(tmpdir(), "workspace-tasks-unpacking-"));
  try {
    const root = path.join(unpacking, "root");
    for (const file of download(unpacking)) run("dpkg-deb", ["-x", file, root], unpacking);
    renameSync(root, folder);
    return binariesIn(folder);
  } catch (error) {
    if (existsSync(folder)) return binariesIn(folder); // Another run was faster.
    const missing = `no installed RabbitMQ was found, and its packages cannot be downloaded: ${reasonOf(error)}`;
    writeFileSync(memo, missing);
    return { missing };
  } finally {
    rmSync(unpacking, { recursive: true, force: true });
  }
}

function binariesIn(folder: string): Found {
  const [home] = subfolders(path.join(folder, "usr/lib/rabbitmq/lib"), /^rabbitmq_server/);
  const [libraryPath] = subfolders(path.join(folder, "usr/lib"), /-linux-gnu/);
  if (!home) return { missing: `${folder} contains no RabbitMQ; delete it` };
  return { home, erlangRoot: path.join(folder, "usr/lib/erlang"), libraryPath };
}

/** The packages of the server and of everything that is not installed and that it depends on. */
function download(folder: string): readonly string[] {
  const packages = path.join(folder, "packages");
  mkdirSync(packages);
  const fetch = (options: readonly string[]) => {
    const simulated = run(
      "apt-get",
      [...options, "--simulate", "--no-install-recommends", "install", "rabbitmq-server"],
      folder,
    );
    const names = [...simulated.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name ?? "");
    if (names.length === 0) throw new Error("apt-get names no packages");
    run("apt-get", [...options, "download", ...names], packages);
  };
  try {
    fetch(aptOptions);
  } catch {
    // The lists of this machine are missing, or name versions that the server no longer has: lists of our own.
    const lists = path.join(folder, "lists");
    const cache = path.join(folder, "cache");
    for (const created of [lists, cache]) mkdirSync(path.join(created, "partial"), { recursive: true });
    const own = [...aptOptions, "-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${cache}`];
    run("apt-get", [...own, "update"], folder);
    fetch(own);
  }
  return readdirSync(packages).map((name) => path.join(packages, name));
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

function subfolders(folder: string, name: RegExp): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((entry) => name.test(entry))
    .map((entry) => realpathSync(path.join(folder, entry)));
}
