import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { deferred } from "@workspace-tasks/kernel/deferred.ts";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { describe, expect, it, vi } from "vitest";
import { shownArguments } from "../../support/documents.ts";
import { listen } from "../../support/listen.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { RunningProgram } from "../../support/running-program.ts";
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
  /** Carries deletions out; until then they wait for the end of their connection. */
  release(): void;
}

/** A mock that takes its time with deletions. */
async function startSlowMock(): Promise<SlowMock> {
  const mock = await createMockServer({ settings: unlimited });
  const deleting = deferred();
  const released = new AbortController();
  const server = await listen(
    createServer(async (request, response) => {
      const body = await buffer(request);
      if (body.includes("deleteWebhookEndpoint(") && !released.signal.aborted) {
        deleting.resolve();
        await Promise.race([once(request.socket, "close"), once(released.signal, "abort")]);
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
    deleting: deleting.promise,
    release: () => released.abort(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await mock.close();
    },
  };
}

const unlimited = { rateLimit: { requests: 100_000 } };
const ending = /ending: removing 1 webhook endpoint; Ctrl-C again to leave it/;

/** Runs with `--writes` until an endpoint is deleted, and sends it these signals. */
async function interrupt(service: SlowMock, ...signals: readonly NodeJS.Signals[]) {
  return withFolder(async (folder) => {
    const settings = join(folder, "unlimited.json");
    await writeFile(settings, JSON.stringify(unlimited));
    const argv = ["--base-url", service.origin, "--writes", "--yes", "--settings", settings, "--json"];
    using running = run(argv, { WORKSPACE_TASKS_API_KEY: service.mock.apiKey });
    await service.deleting;
    for (const signal of signals) {
      running.signal(signal);
      await running.said(ending);
    }
    if (signals.length === 1) service.release();
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
    expect(err).toMatch(ending);
    expect(JSON.parse(out)).toMatchObject({ stopped: "stopped", removal: { left: [], problem: null } });
  });

  it("a second SIGINT names exactly what it leaves, with a command that removes it", async () => {
    await using service = await startSlowMock();
    const { mock, origin } = service;
    const { code, signal, out, err } = await interrupt(service, "SIGINT", "SIGINT");
    expect([code, signal, out]).toEqual([null, "SIGINT", ""]);
    // The deletion that was on its way is carried out by the service.
    await mock.expectRequest({ operation: "deleteWebhookEndpoint", timeoutMs: 20_000 });
    await vi.waitFor(async () => expect(await listed(mock)).toEqual([]));
    expect(err).toMatch(
      /NOT removed: 1 webhook endpoint\n {2}https:\S+ {2}[0-9a-f-]{36}, perhaps: a response was lost/,
    );
    const [, url = "", address] =
      /workspace-tasks endpoints delete '([^']+)' --base-url (\S+)/.exec(err) ?? [];
    expect(address).toBe(origin);
    // At the mock itself, which holds nothing.
    await mock.control.createEndpoint({ url });
    const remove = ["endpoints", "delete", url, "--base-url", mock.baseUrl, "--yes"];
    using removing = new RunningProgram([...packageFlags, bin, ...remove], {
      env: { WORKSPACE_TASKS_API_KEY: mock.apiKey },
    });
    expect((await removing.result()).code).toBe(0);
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
