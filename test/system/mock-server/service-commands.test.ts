// Commands for the real service are killed at each of their requests, by a proxy between them and a mock: before the request
// arrives, after it took effect, and so that it arrives once the next start has ended.

import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { createClient } from "@workspace-tasks/sdk";
import { describe, expect, it } from "vitest";
import { runEndpointsCommand } from "../../../mock-server/tools/commands/service/endpoints-command.ts";
import { runListenCommand } from "../../../mock-server/tools/commands/service/listen-command.ts";
import { isFullDepth } from "../../support/depth.ts";
import { freePort, listen } from "../../support/listen.ts";
import { packageFlags } from "../../support/package-flags.ts";
import { runCommand, startCommand } from "../../support/run-command.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { withFolder } from "../../support/with-folder.ts";

const bin = join(import.meta.dirname, "../../../mock-server/tools/bin/workspace-tasks.js");

type When = "before" | "after" | "late";

interface Interruption {
  /** Counts from 1; without one nothing is interrupted. */
  readonly request?: number;
  readonly when: When;
  act(): void;
}

/** Passes requests on, and calls `act` at one of them. */
async function createProxy(mock: MockServer, { request: interrupted, when, act }: Interruption) {
  const operations: string[] = [];
  const late: (() => Promise<unknown>)[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join("");
    operations.push(/(?:query|mutation) (\w+)/.exec(body)?.[1] ?? "");
    const isInterrupted = operations.length === interrupted;
    const pass = async () => {
      const headers = {
        "content-type": "application/json",
        authorization: request.headers.authorization ?? "",
      };
      const answer = await fetch(`${mock.baseUrl}${request.url}`, { method: "POST", headers, body });
      return { status: answer.status, text: await answer.text() };
    };
    if (isInterrupted && when !== "after") {
      if (when === "late") late.push(pass);
      act();
      return;
    }
    const { status, text } = await pass();
    if (isInterrupted) act();
    else if (!response.destroyed)
      response.writeHead(status, { "content-type": "application/json" }).end(text);
  });
  const listening = await listen(server);
  return Object.assign(listening, {
    operations,
    arriveLate: () => Promise.all(late.map((pass) => pass())),
  });
}

interface Case {
  readonly mock: MockServer;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly count: () => Promise<number>;
}

const foreign = {
  url: "https://app.example.com/hooks",
  description: "workspace-tasks listen 0123456789abcdef",
};

/** A mock with an endpoint that looks like one of `listen`, but is of another machine; it must stay. */
const withMock = (run: (given: Case) => Promise<void>) =>
  withFolder(async (folder) => {
    await using mock = await createMockServer();
    const { baseUrl, apiKey } = mock;
    await using client = createClient({ baseUrl, apiKey });
    await client.webhooks.endpoints.create(foreign);
    const env = { WORKSPACE_TASKS_API_KEY: apiKey, XDG_STATE_HOME: folder };
    const count = async () => {
      const all = await client.webhooks.endpoints.list({ limit: 100 }).toArray();
      expect(all.filter(({ description }) => description === foreign.description)).toHaveLength(1);
      return all.length - 1;
    };
    await run({ mock, folder, env, count });
  });

const start = (argv: readonly string[], baseUrl: string, env: Case["env"]) =>
  startBy([process.execPath], argv, baseUrl, env);

/** @param launcher a command that runs Node, with its arguments */
function startBy(
  [command, ...flags]: readonly string[],
  argv: readonly string[],
  baseUrl: string,
  env: Case["env"],
) {
  return new RunningProgram([...flags, ...packageFlags, bin, ...argv], {
    command,
    env: { ...env, WORKSPACE_TASKS_BASE_URL: baseUrl, npm_lifecycle_event: undefined },
  });
}

const inNamespace = ["unshare", "-p", "-f", "--mount-proc"];
const hasNamespaces =
  process.platform === "linux" &&
  spawnSync(inNamespace[0] ?? "", [...inNamespace.slice(1), "true"]).status === 0;

const listenArguments = async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/hooks`;
  return ["--url", url, "--port", String(port), "--forward-to", "http://127.0.0.1:9/hooks"];
};

/** The next start, at the same service: finds what is left, and ends in order. */
async function startAgain({ mock, env }: Case, proxied: string): Promise<void> {
  const again = startCommand(runListenCommand, await listenArguments(), {
    env: { ...env, WORKSPACE_TASKS_BASE_URL: proxied },
  });
  await again.firstOutput();
  again.stop();
  const { code, out, err } = await again.result();
  expect([
    code,
    err.replaceAll(
      /workspace-tasks listen: (?:removed the endpoint \S+ of an earlier run|waits up to a minute to see whether .+ runs)\s*/g,
      "",
    ),
  ]).toEqual([0, ""]);
  expect(out + err).not.toMatch(/whsec_/);
  expect(out + err).not.toContain(mock.apiKey);
}

const recordsIn = (folder: string) => readdir(join(folder, "workspace-tasks/listen")).catch(() => []);

/** The requests of a whole run, each of which is interrupted. */
const listenRequests = ["", "Me", "ListWebhookEndpoints", "CreateWebhookEndpoint", "DeleteWebhookEndpoint"];

describe("workspace-tasks listen", () => {
  // All of them at full depth; else those that change something.
  const steps = listenRequests
    .map((operation, index) => [operation, index + 1] as const)
    .filter(([operation]) => isFullDepth || /Create|Delete/.test(operation))
    .flatMap(([, request]) => (["before", "after", "late"] as const).map((when) => [request, when] as const));

  it("sends these requests, and leaves neither endpoint nor record", () =>
    withMock(async (given) => {
      await using proxy = await createProxy(given.mock, { when: "before", act() {} });
      using program = start(["listen", ...(await listenArguments())], proxy.origin, given.env);
      await program.said(/Ctrl\+C removes/);
      expect(await given.count()).toBe(1);
      expect(await recordsIn(given.folder)).toHaveLength(2);
      program.signal("SIGINT");
      expect((await program.ended()).code).toBe(0);
      expect(proxy.operations.slice(1)).toEqual(listenRequests.slice(1));
      expect(await given.count()).toBe(0);
      expect(await recordsIn(given.folder)).toEqual([]);
    }));

  it.each(steps)("killed at request %i, %s it arrives: the next start finds what is left", (request, when) =>
    withMock(async (given) => {
      let act = () => {};
      await using proxy = await createProxy(given.mock, { request, when, act: () => act() });
      using program = start(["listen", ...(await listenArguments())], proxy.origin, given.env);
      act = () => program.signal("SIGKILL");
      // The last request is that of an ordered end.
      program.said(/Ctrl\+C removes/).then(
        () => program.signal("SIGTERM"),
        () => {},
      );
      const { out, err, signal } = await program.result();
      expect(signal).toBe("SIGKILL");
      expect(out + err).not.toMatch(/whsec_/);
      expect(out + err).not.toContain(given.mock.apiKey);
      await startAgain(given, proxy.origin);
      await proxy.arriveLate();
      // What arrived after the list of the next start is found by the one after it.
      if ((await given.count()) > 0) await startAgain(given, proxy.origin);
      expect(await given.count()).toBe(0);
    }),
  );

  it.each(steps.filter(([, when]) => when !== "late"))(
    "stopped at request %i, %s it arrives: it ends, and nothing is left",
    (request, when) =>
      withMock(async (given) => {
        let act = () => {};
        await using proxy = await createProxy(given.mock, { request, when, act: () => act() });
        using program = start(["listen", ...(await listenArguments())], proxy.origin, given.env);
        act = () => program.signal("SIGINT");
        program.said(/Ctrl\+C removes/).then(
          () => program.signal("SIGTERM"),
          () => {},
        );
        const { code, signal } = await program.result();
        // A second signal ends it at once.
        if (request < listenRequests.length) expect([code, signal]).toEqual([expect.any(Number), null]);
        await startAgain(given, proxy.origin);
        expect(await given.count()).toBe(0);
      }),
  );

  it.skipIf(!hasNamespaces)(
    "leaves the endpoint of a run that still runs in another process namespace, such as that of a container",
    () =>
      withMock(async (given) => {
        const { mock, env } = given;
        const startThere = async () =>
          startBy(
            [...inNamespace, process.execPath],
            ["listen", ...(await listenArguments())],
            mock.baseUrl,
            env,
          );
        // Both have the process id 1.
        using running = await startThere();
        await running.said(/Ctrl\+C removes/);
        using other = await startThere();
        await other.said(/Ctrl\+C removes/);
        expect(await given.count()).toBe(2);
      }),
    60_000,
  );

  it("leaves the endpoint of a run that still runs, and records of another service", () =>
    withMock(async (given) => {
      const { mock, env } = given;
      using running = start(["listen", ...(await listenArguments())], mock.baseUrl, env);
      await running.said(/Ctrl\+C removes/);
      await startAgain(given, mock.baseUrl);
      expect(await given.count()).toBe(1);
      running.signal("SIGKILL");
      await running.ended();
      await using other = await createMockServer({ seed: 2 });
      await startAgain(
        { ...given, mock: other, env: { ...env, WORKSPACE_TASKS_API_KEY: other.apiKey } },
        other.baseUrl,
      );
      expect(await given.count()).toBe(1);
      await startAgain(given, mock.baseUrl);
      expect(await given.count()).toBe(0);
    }));
});

describe("workspace-tasks endpoints ensure", () => {
  const url = "https://app.example.com/billing";
  // At the last one the next start waits for half a minute.
  const steps = (isFullDepth ? [1, 2, 3, 4] : [3]).flatMap((request) =>
    (["before", "after"] as const).map((when) => [request, when] as const),
  );

  it.each(steps)(
    "killed at request %i, %s it arrives: the next one has one endpoint and its secret",
    (request, when) =>
      withMock(async ({ mock, folder, env, count }) => {
        const store = join(folder, "secrets.json");
        const argv = ["ensure", url, "--store", store, "--yes"];
        let act = () => {};
        await using proxy = await createProxy(mock, { request, when, act: () => act() });
        using program = start(["endpoints", ...argv], proxy.origin, env);
        act = () => program.signal("SIGKILL");
        const { out, err, signal } = await program.result();
        expect(signal).toBe("SIGKILL");
        // A process that was killed holds the store for its time, 30 s at most.
        const io = { env: { ...env, WORKSPACE_TASKS_BASE_URL: mock.baseUrl } };
        const next = await runCommand(runEndpointsCommand, argv, io);
        expect(next.code).toBe(0);
        expect(out + err + next.out + next.err).not.toMatch(/whsec_/);
        expect(await count()).toBe(1);
        expect(await readFile(store, "utf8")).toMatch(/whsec_/);
      }),
  );
});
