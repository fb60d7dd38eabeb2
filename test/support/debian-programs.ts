// Programs of Debian and Ubuntu for the tests: that of this machine, or else that of the distribution's packages, downloaded by
// apt-get and unpacked into a folder of their own. Nothing is installed and nothing of the system changes. The folder gets its
// name when it is complete, so two test runs that start together do not share a partial copy.

import { execFile, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { acceptsConnections, freePort } from "./listen.ts";
import { RunningProgram } from "./running-program.ts";

interface Program {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

type Found = Program | { readonly missing: string };

/** Where a program is in the unpacked files of a package, and the argument with which it only prints its version. */
interface Origin {
  readonly debianPackage: string;
  readonly paths: readonly string[];
  readonly version: string;
}

const origins = {
  promtool: { debianPackage: "prometheus", paths: ["usr/bin/promtool"], version: "--version" },
  nginx: { debianPackage: "nginx", paths: ["usr/sbin/nginx"], version: "-v" },
  "systemd-analyze": {
    debianPackage: "systemd",
    paths: ["usr/bin/systemd-analyze", "bin/systemd-analyze"],
    version: "--version",
  },
} satisfies Readonly<Record<string, Origin>>;

export type DebianProgram = keyof typeof origins;

const found = new Map<DebianProgram, Found>();

/** The program, or the reason why this machine has none. Looks, and downloads where necessary, once per process. */
export function findDebianProgram(name: DebianProgram): Found {
  const known = found.get(name) ?? find(name, origins[name]);
  found.set(name, known);
  return known;
}

function find(name: string, { debianPackage, paths, version }: Origin): Found {
  const works = ({ program, env }: Program) =>
    spawnSync(program, [version], { timeout: 30_000, env: { ...process.env, ...env } }).status === 0;
  const installed = [name, `/usr/sbin/${name}`].map((program) => ({ program, env: {} })).find(works);
  if (installed) return installed;
  const unpacked = unpackedPackage(debianPackage);
  if ("missing" in unpacked) return { missing: `${name} is not installed, and ${unpacked.missing}` };
  const { folder } = unpacked;
  const library = path.join(folder, "usr/lib");
  // A program without libraries of its own has no such folder.
  const libraries = (fs.existsSync(library) ? fs.readdirSync(library) : [])
    .filter((each) => each.endsWith("-linux-gnu"))
    .flatMap((each) => [path.join(library, each), path.join(library, each, "systemd")]);
  const env = { LD_LIBRARY_PATH: libraries.join(":") };
  const own = paths.map((each) => ({ program: path.join(folder, each), env })).find(works);
  return own ?? { missing: `the ${name} of the distribution does not run here` };
}

function programOf(name: DebianProgram): Program {
  const program = findDebianProgram(name);
  if ("missing" in program) throw new Error(program.missing);
  return program;
}

/** What systemd says about a unit file; empty when it has nothing to say. */
export function verifyUnit(file: string): string {
  const { program, env } = programOf("systemd-analyze");
  const { stdout, stderr, error } = spawnSync(program, ["verify", "--man=no", file], {
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, ...env },
  });
  if (error) throw error;
  // It also reads the other units of this machine.
  return `${stdout}${stderr}`
    .split("\n")
    .filter((line) => line.includes(path.basename(file)))
    .join("\n");
}

/** A proxy that keeps its connections to `port` open. Resolves when it listens. */
export async function startNginx(
  folder: string,
  port: number,
): Promise<Disposable & { readonly url: string }> {
  const nginx = programOf("nginx");
  const own = await freePort();
  const directory = path.join(folder, "nginx");
  fs.mkdirSync(directory);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const configuration = `
daemon off; pid ${directory}/pid; error_log ${directory}/error.log; worker_processes 1;
${process.getuid?.() === 0 ? "user root;" : ""}
events { worker_connections 512; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join(" ")}
  upstream receiver { server 127.0.0.1:${port}; keepalive 16; }
  server {
    listen 127.0.0.1:${own};
    location / { proxy_pass http://receiver; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}`;
  fs.writeFileSync(path.join(directory, "nginx.conf"), configuration);
  const args = ["-p", directory, "-c", path.join(directory, "nginx.conf"), "-e", "stderr"];
  const program = new RunningProgram(args, { command: nginx.program, env: nginx.env });
  void program.ended().then(({ output }) => output && console.error(output));
  while (!(await acceptsConnections(own))) await new Promise((resolve) => setTimeout(resolve, 20));
  return { url: `http://127.0.0.1:${own}/webhooks`, [Symbol.dispose]: () => program[Symbol.dispose]() };
}

/** Why no program can be run on a pseudo-terminal: `script` of util-linux does that. */
export function pseudoTerminalMissing(): string | undefined {
  const { stdout } = spawnSync("script", ["--version"], { encoding: "utf8" });
  return stdout?.includes("util-linux") ? undefined : "no program script of util-linux";
}

/** What node prints on a terminal of this many columns, stdout and stderr as they come. */
export async function runOnTerminal(
  args: readonly string[],
  columns: number,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const quoted = [process.execPath, ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`);
  const command = `stty cols ${columns}; ${quoted.join(" ")}`;
  const { NO_COLOR: _, ...own } = process.env;
  const options = { env: { ...own, TERM: "xterm", ...env } };
  const { stdout } = await promisify(execFile)("script", ["-qec", command, "/dev/null"], options);
  return stdout.replaceAll("\r\n", "\n");
}

type Unpacked = { readonly folder: string } | { readonly missing: string };

/** The folder with the files of a package and of everything that is not installed and that it depends on. */
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
    cwd,
    encoding: "utf8",
    timeout: 180_000,
    env: { PATH: process.env["PATH"], LC_ALL: "C" },
  });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim().split("\n").at(-1) ?? `${program} ended with ${status}`);
  return stdout;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
