import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createMockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { packageFlags } from "../../support/package-flags.ts";
import { shownArguments } from "../../support/shown-commands.ts";
import { withFolder } from "../../support/with-folder.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");

/** Runs the command in its own process. */
function run(argv: readonly string[], env: Readonly<Record<string, string>>) {
  const args = [...packageFlags, bin, "compare", ...argv];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  return { child, ended: async () => ({ code: (await once(child, "close"))[0], out, err }) };
}

describe("workspace-tasks compare", () => {
  it("SIGINT ends it with a partial report, and its record is replayed to the same", async () => {
    await using mock = await createMockServer();
    const env = { WORKSPACE_TASKS_API_KEY: mock.apiKey };
    await withFolder(async (folder) => {
      const record = join(folder, "record.ndjson");
      const shown = shownArguments("docs/compare.md", {
        program: "workspace-tasks compare",
        part: "--record",
        values: { "https://api.example.com": mock.baseUrl, "first-run.ndjson": record },
      });
      const { child, ended } = run(shown, env);
      // The run waits for the end of a token by then.
      await mock.expectRequest({ operation: "me", timeoutMs: 20_000 });
      child.kill("SIGINT");
      const stopped = await ended();
      expect(stopped.out).toContain("Not finished: stopped.");
      expect([stopped.code, stopped.err.includes("    at ")]).toEqual([2, false]);

      const replayed = await run(["--replay", record], {}).ended();
      const rulesLine = /Rules: .*/;
      expect(replayed.out.match(rulesLine)?.[0]).toBe(stopped.out.match(rulesLine)?.[0]);
      expect([replayed.code, await readFile(record, "utf8")]).toEqual([
        0,
        expect.not.stringContaining(mock.apiKey),
      ]);
    });
  });
});
