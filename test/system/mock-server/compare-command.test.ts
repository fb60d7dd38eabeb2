import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it } from "vitest";
import { listen } from "../../support/listen.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { shownArguments } from "../../support/shown-commands.ts";
import { withFolder } from "../../support/with-folder.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");

/** Runs the command in its own process. */
const run = (argv: readonly string[], env: Readonly<Record<string, string>>) =>
  new RunningProgram([...packageFlags, bin, "compare", ...argv], { env });

interface SlowMock extends AsyncDisposable {
  readonly mock: MockServer;
  readonly origin: string;
  /** Resolves when a deletion has arrived, and is not yet carried out. */
  readonly deleting: Promise<void>;
}

/** A mock that takes its time, as a service far away does. @param holds a deletion waits for the end of its connection */
async function startSlowMock(holds = false): Promise<SlowMock> {
  const mock = await createMockServer({ settings: unlimited });
  let arrived = () => {};
  const deleting = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = await listen(
    createServer(async (request, response) => {
      const body = await buffer(request);
      if (/(update|delete)WebhookEndpoint\(/.test(body.toString())) await setTimeout(300);
      if (holds && body.includes("deleteWebhookEndpoint(")) {
        arrived();
        await once(request.socket, "close");
      }
      const { method = "GET", headers, url } = request;
      const { authorization = "" } = headers;
      const received = await mock.fetch(`${mock.baseUrl}${url}`, {
        method,
        headers: { "content-type": "application/json", ...(authorization ? { authorization } : {}) },
        ...(method === "POST" ? { body } : {}),
      });
      response.writeHead(received.status, Object.fromEntries(received.headers)).end(await received.text());
    }),
  );
  const { origin } = server;
  return {
    mock,
    origin,
    deleting,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await mock.close();
    },
  };
}

const unlimited = { rateLimit: { requests: 100_000 } };
const ending = /ending: removing (\d) webhook endpoints; Ctrl-C again to leave them/;

/** Runs with `--writes` until endpoints are changed, and sends it these signals. */
async function interrupt({ mock, origin, deleting }: SlowMock, ...signals: readonly NodeJS.Signals[]) {
  return withFolder(async (folder) => {
    const settings = join(folder, "unlimited.json");
    await writeFile(settings, JSON.stringify(unlimited));
    using running = run(["--base-url", origin, "--writes", "--yes", "--settings", settings, "--json"], {
      WORKSPACE_TASKS_API_KEY: mock.apiKey,
    });
    await mock.expectRequest({ operation: "updateWebhookEndpoint", timeoutMs: 60_000 });
    for (const [index, signal] of signals.entries()) {
      if (index > 0) await deleting;
      running.signal(signal);
      await running.said(ending);
    }
    return await running.result();
  });
}

const listed = async ({ control }: MockServer) =>
  (await control.listEndpoints()).data.map(({ url, id }) => `${url}  ${id}`);

describe.concurrent("workspace-tasks compare", () => {
  it("SIGTERM says at once what is removed, and removes it", async () => {
    await using service = await startSlowMock();
    const { code, out, err } = await interrupt(service, "SIGTERM");
    expect([code, await listed(service.mock)]).toEqual([2, []]);
    const removed = Number(ending.exec(err)?.[1]);
    expect(removed).toBeGreaterThan(2);
    const removal = { removed, left: [], problem: null };
    expect(JSON.parse(out)).toMatchObject({ stopped: "stopped", removal });
  });

  it("a second SIGINT names exactly what it leaves, and --clean removes it", async () => {
    await using service = await startSlowMock(true);
    const { mock, origin } = service;
    const { code, signal, out, err } = await interrupt(service, "SIGINT", "SIGINT");
    expect([code, signal, out]).toEqual([null, "SIGINT", ""]);
    // The deletion that was on its way is carried out by the service.
    await mock.expectRequest({ operation: "deleteWebhookEndpoint", timeoutMs: 20_000 });
    const left = await listed(mock);
    const lines = err
      .split("\n")
      .filter((line) => line.startsWith("  https://") || line.startsWith("  http://"));
    const certain = lines.filter((line) => !line.includes(", perhaps")).map((line) => line.trim());
    expect([left.toSorted(), lines.length - certain.length]).toEqual([certain.toSorted(), 1]);
    expect(err).toContain(`NOT removed: ${lines.length} webhook endpoints`);
    const clean = `workspace-tasks compare --base-url ${origin} --clean`;
    expect(err).toContain(`to remove them: ${clean}`);
    // At the mock itself, which holds nothing.
    const argv = [...clean.replace(origin, mock.baseUrl).split(" ").slice(2), "--yes"];
    const cleaned = await run(argv, { WORKSPACE_TASKS_API_KEY: mock.apiKey }).result();
    expect([cleaned.code, cleaned.out]).toEqual([0, `Removed ${left.length} webhook endpoints.\n`]);
    expect(await listed(mock)).toEqual([]);
  });

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
      using running = run(shown, env);
      // The run waits for the end of a token by then.
      await mock.expectRequest({ operation: "me", timeoutMs: 20_000 });
      running.signal("SIGINT");
      const stopped = await running.result();
      expect(stopped.out).toContain("Not finished: stopped.");
      expect([stopped.code, stopped.err.includes("    at ")]).toEqual([2, false]);

      const replayed = await run(["--replay", record], {}).result();
      const rulesLine = /Rules: .*/;
      expect(replayed.out.match(rulesLine)?.[0]).toBe(stopped.out.match(rulesLine)?.[0]);
      expect([replayed.code, await readFile(record, "utf8")]).toEqual([
        0,
        expect.not.stringContaining(mock.apiKey),
      ]);
    });
  });
});
