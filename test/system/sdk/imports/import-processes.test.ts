import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../../../support/bundled-program.ts";
import { atDepth } from "../../../support/depth.ts";
import { withFolder } from "../../../support/with-folder.ts";
import type { ImportProcessInput, ImportProcessOutput } from "./import-process.ts";

let program: readonly string[];
beforeAll(async () => {
  program = await bundledProgram("test/system/sdk/imports/import-process.ts");
});

const argumentsOf = (input: ImportProcessInput) => ["--expose-gc", ...program, JSON.stringify(input)];

async function run(input: ImportProcessInput): Promise<ImportProcessOutput> {
  const { stdout } = await promisify(execFile)(process.execPath, argumentsOf(input));
  return JSON.parse(stdout) as ImportProcessOutput;
}

const inFolder = (use: (path: string) => Promise<void>) => () =>
  withFolder((folder) => use(join(folder, "import.journal")));

describe("an import in a process of its own", () => {
  it(
    "keeps little of a client in memory and in its journal, and continues quickly",
    inFolder(async (path) => {
      const count = atDepth(20_000, 100_000);
      const small = await run({ journalPath: `${path}.small`, clients: 100 });
      const large = await run({ journalPath: path, clients: count });
      expect(large).toMatchObject({ imported: count, unchanged: 0 });
      // 39 MB for 100,000 clients.
      expect(large.heapBytes - small.heapBytes).toBeLessThan(atDepth(480, 390) * count);
      expect((await stat(path)).size / count).toBeLessThan(240);
      const again = await run({ journalPath: path, clients: count });
      expect(again).toMatchObject({ imported: 0, unchanged: count, requests: 0 });
      // 5 s for 100,000 clients, in processor time of this process alone.
      expect(again.cpuMs).toBeLessThan(1_000 + count / 20);
    }),
    300_000,
  );

  it.skipIf(process.platform === "win32")(
    "ends when its journal cannot grow, and continues when it can",
    inFolder(async (path) => {
      const command = [process.execPath, ...argumentsOf({ journalPath: path, clients: 300 })];
      // Files of at most 8 blocks of 512 or 1,024 bytes; the write then fails instead of the process.
      const shell = 'trap "" XFSZ; ulimit -f 8; exec "$@"';
      const { stdout } = await promisify(execFile)("sh", ["-c", shell, "sh", ...command]);
      expect(JSON.parse(stdout)).toMatchObject({ error: "JOURNAL_FAILED" });
      expect((await readFile(path)).byteLength).toBeGreaterThanOrEqual(4_096);
      const full = shell.replace("8", "0");
      const locking = await promisify(execFile)("sh", ["-c", full, "sh", ...command]);
      expect(JSON.parse(locking.stdout)).toMatchObject({ error: "JOURNAL_FAILED", requests: 0 });
      expect(await run({ journalPath: path, clients: 300 })).toMatchObject({ imported: 300 });
    }),
  );
});
