// The packed packages and their dependencies in an empty folder outside the repository, for the tests of a file.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { unpackPackages } from "../../../scripts/pack.ts";

export class PackedProject {
  readonly folder = mkdtempSync(join(tmpdir(), "workspace-tasks-packed-"));
  #folders: ReadonlyMap<string, string> = new Map();

  /** @param others packages of this repository's node_modules */
  constructor(...others: readonly string[]) {
    beforeAll(() => {
      if (!existsSync("sdk/dist/index.cjs"))
        throw new Error("there is nothing to pack: run npm run build first");
      this.#folders = unpackPackages(this.folder, others);
    }, 180_000);
    afterAll(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  folderOf(name: string): string {
    return this.#folders.get(name) ?? "";
  }

  /** What Node prints there, on both streams, and its exit code. */
  run(...args: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
    const options = { cwd: this.folder, env: { PATH: process.env["PATH"] } };
    return new Promise((resolve) => {
      execFile(process.execPath, args, options, (error, out, err) =>
        resolve({ code: error?.code ?? 0, output: out + err }),
      );
    });
  }

  /** What a module prints. */
  async evaluate(text: string): Promise<string> {
    return (await this.run("--input-type=module", "--eval", text)).output;
  }
}
