// The wall clock of other processes, which a test sets while they run: Debian's libfaketime, preloaded. Their monotonic
// clock stays as it is, as when an operator or NTP sets the time of a machine.
import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { unpackedPackage } from "./debian-packages.ts";

type Library = { readonly file: string } | { readonly missing: string };
let library: Library | undefined;

/** The library, or the reason why this machine has none. */
export function findClockLibrary(): Library {
  library ??= find();
  return library;
}

function find(): Library {
  if (process.platform !== "linux")
    return { missing: "the clock of other processes can be set on Linux only" };
  const unpacked = unpackedPackage("libfaketime");
  if ("missing" in unpacked) return unpacked;
  const folder = path.join(unpacked.folder, "usr/lib");
  const file = readdirSync(folder)
    .map((name) => path.join(folder, name, "faketime/libfaketimeMT.so.1"))
    .find(existsSync);
  return file ? { file } : { missing: `${unpacked.folder} contains no library; delete it` };
}

/** The clock of every process that is started with `env`. Disposing deletes its file; end the processes first. */
export class SettableClock implements Disposable {
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;

  constructor() {
    const found = findClockLibrary();
    if ("missing" in found) throw new Error(found.missing);
    this.#folder = mkdtempSync(path.join(tmpdir(), "workspace-tasks-clock-"));
    // A server may run as another user.
    chmodSync(this.#folder, 0o755);
    this.set(0);
    this.env = {
      LD_PRELOAD: found.file,
      FAKETIME_TIMESTAMP_FILE: path.join(this.#folder, "offset"),
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      NO_FAKE_STAT: "1",
    };
  }

  /** Sets it to that of this machine and so many seconds. */
  set(offsetSeconds: number): void {
    const next = path.join(this.#folder, "next");
    writeFileSync(next, `${offsetSeconds < 0 ? "" : "+"}${offsetSeconds}\n`);
    renameSync(next, path.join(this.#folder, "offset"));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
