import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";

const entry = ["sdk", "receiver-kit", "mock-server"]
  .map((name) => `export * from "@workspace-tasks/${name}";`)
  .join("\n");

type Exports = Readonly<Record<string, unknown>>;
type ErrorClass = new (...words: unknown[]) => Error;

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === "function" && value.prototype instanceof Error;

it("errors have the names of their classes in a minified bundle", async () => {
  const folder = await mkdtemp(join(tmpdir(), "minified-"));
  try {
    const outfile = join(folder, "bundle.mjs");
    const isMinified = { bundle: true, minify: true, platform: "node", format: "esm" } as const;
    const conditions = ["workspace-tasks-source"];
    const stdin = { contents: entry, resolveDir: import.meta.dirname };
    await build({
      ...isMinified,
      stdin,
      outfile,
      conditions,
      external: ["pg", "libsql"],
      logLevel: "silent",
    });
    const exports: Exports = await import(pathToFileURL(outfile).href);
    const names = Object.entries(exports).filter(([, value]) => isErrorClass(value));
    expect(names.length).toBeGreaterThanOrEqual(6);
    for (const [name, value] of names as [string, ErrorClass][]) {
      expect(String(new value("TASK_FAILED", "message"))).toMatch(new RegExp(`^${name}: `));
      class Own extends value {}
      expect(new Own("TASK_FAILED", "message").name).toBe("Own");
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
