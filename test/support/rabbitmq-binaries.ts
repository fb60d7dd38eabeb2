// RabbitMQ for the tests: the one of this machine, or else the unpacked packages of the distribution.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

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
  const found = unpackedPackage("rabbitmq-server");
  if ("missing" in found) return { missing: `no installed RabbitMQ was found, and ${found.missing}` };
  return binariesIn(found.folder);
}

function binariesIn(folder: string): Found {
  const [home] = subfolders(path.join(folder, "usr/lib/rabbitmq/lib"), /^rabbitmq_server/);
  const [libraryPath] = subfolders(path.join(folder, "usr/lib"), /-linux-gnu/);
  if (!home) return { missing: `${folder} contains no RabbitMQ; delete it` };
  return { home, erlangRoot: path.join(folder, "usr/lib/erlang"), libraryPath };
}

function subfolders(folder: string, name: RegExp): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((entry) => name.test(entry))
    .map((entry) => realpathSync(path.join(folder, entry)));
}
