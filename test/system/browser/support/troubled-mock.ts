import { createServer, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createMockServer, type MockServer } from "@workspace-tasks/mock-server";
import { listen } from "../../../support/listen.ts";
import { callGraphql, workspaceToken } from "../../../support/mock-client.ts";

/** A mock on a real clock, with five endpoints of which one works. */
export interface TroubledMock extends AsyncDisposable {
  readonly mock: MockServer;
  /** URLs by path; the one of `/refused` has no server. */
  readonly urls: Readonly<Record<Path, string>>;
}

const paths = ["/ok", "/flaky", "/unauth", "/slow", "/refused"] as const;
type Path = (typeof paths)[number];

/** Tasks are started one after the other, this far apart: the charts show more than one bar. */
const taskPauseMs = 110;

export async function createTroubledMock(): Promise<TroubledMock> {
  const receiver = await listen(createServer(respondByPath()));
  const closed = await listen(createServer());
  await closed[Symbol.asyncDispose]();
  // Attempts of the endpoint that never responds run for longer than the tests, and use all of its connections.
  const delivery = { timeoutMs: 300_000, inFlightPerEndpointMax: 4 };
  const mock = await createMockServer({ seed: 7, settings: { delivery } });
  const urls = Object.fromEntries(
    paths.map((path) => [path, `${(path === "/refused" ? closed : receiver).origin}${path}`]),
  ) as TroubledMock["urls"];
  for (const url of Object.values(urls)) await mock.control.createEndpoint({ url });
  await makeTrouble(mock);
  return {
    mock,
    urls,
    async [Symbol.asyncDispose]() {
      await mock.close();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

/** One path answers 500 every third time, one always 401, one never. */
function respondByPath() {
  let calls = 0;
  const responses: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
    "/ok": (response) => response.writeHead(204).end(),
    "/flaky": (response) => {
      calls++;
      if (calls % 3 !== 0) return response.writeHead(204).end();
      return response
        .writeHead(500, { "content-type": "application/json", "x-request-id": `call-${calls}` })
        .end('{"error":"the database is locked"}');
    },
    "/unauth": (response) =>
      response.writeHead(401, { "content-type": "application/json" }).end('{"error":"unknown signature"}'),
    "/slow": () => undefined,
  };
  return ({ url = "" }: { url?: string | undefined }, response: ServerResponse) => responses[url]?.(response);
}

/** Tasks whose events go to every endpoint; requests that are slow, limited or rejected; faults that fire. */
async function makeTrouble(mock: MockServer): Promise<void> {
  await mock.control.addFaults({ deliveries: [{ instructions: [{ kind: "duplicate" }] }] });
  const token = await workspaceToken(mock);
  for (let started = 0; started < 8; started++) {
    const taskType = ["TAX_PREP", "BINDER", "TAX_REVIEW"][started % 3] ?? "BINDER";
    const { taskId } = await mock.control.startTask({ taskType, progression: "manual" });
    await callGraphql(mock, "query Me { me { __typename } }", { token });
    if (started % 2 === 0) await mock.control.setTaskStatus(taskId, { status: "COMPLETED" });
    await pause(taskPauseMs); // The spread itself.
  }
  await mock.control.addFaults({
    api: [{ operation: "me", instructions: [{ kind: "delay", delayMs: 1_200 }] }],
  });
  const slow = callGraphql(mock, "query Slow { me { __typename } }", { token });
  await callGraphql(mock, 'mutation Gone { deleteWebhookEndpoint(endpointId: "none") }', { token }).catch(
    () => undefined,
  );
  await useUpRateLimit(mock, token);
  await slow;
}

/** Calls until one is limited. */
async function useUpRateLimit(mock: MockServer, token: string): Promise<void> {
  for (let sent = 0; sent < 200; sent++) {
    const isAccepted = await callGraphql(mock, "query Poll { me { __typename } }", { token }).then(
      () => true,
      () => false,
    );
    if (!isAccepted) return;
  }
}
