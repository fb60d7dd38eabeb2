// Every wait of the SDK: what is waited for never comes, and the error names it and the option with the limit.

import { describe, expect, it } from "vitest";
import type { VirtualClock } from "workspace-tasks/mock-server";
import { createTaskPoller } from "../../../sdk/operations/task-poller.ts";
import type { CreateClientOptions } from "../../../sdk/options.ts";
import type { Fetch } from "../../../sdk/request/fetch.ts";
import { createUploads } from "../../../sdk/uploads/uploads.ts";
import { constantLegs, createEngineFixture, createTestEngine } from "../../support/engine-fixture.ts";
import { createFakeEngine, pollerOptions, uploadsOptions } from "../../support/fake-engine.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { probe } from "../../support/probe-operations.ts";

const hang = () => new Promise<never>(() => {});

interface Call {
  readonly respond?: Fetch;
  readonly deadlineMs?: number;
}

/** What became of a wait: the error's code, and its message with those of its causes. */
async function endOf(wait: Promise<unknown>, clock: VirtualClock, forMs: number): Promise<string> {
  const settled = wait.then(() => "it ended well", describeError);
  await clock.advance(forMs);
  return Promise.race([settled, Promise.resolve("it did not end")]);
}

function describeError({ code, name, message, cause }: Error & { readonly code?: string }): string {
  const text = `${code ?? name}: ${message}`;
  return cause instanceof Error ? `${text} < ${describeError(cause)}` : text;
}

/** The end of a call of a client whose requests but the token exchange get what `respond` returns. */
function callEnd(options: Partial<CreateClientOptions>, { respond, ...call }: Call = {}, forMs = 20_000) {
  const service = createFakeService();
  const { apiKey, baseUrl, clock } = service;
  const fetch: Fetch = (input, init) => {
    const isExchange = String(init?.body).includes("ExchangeApiKey");
    return isExchange || !respond ? service.fetch(input, init) : respond(input, init);
  };
  const engine = createTestEngine({ apiKey, baseUrl, clock, fetch, maxRetries: 0, ...options });
  return endOf(engine.execute(probe.query, {}, call), clock, forMs);
}

const waits: readonly (readonly [wait: string, end: () => Promise<string>, expected: RegExp])[] = [
  [
    "the function that returns the API key",
    () => callEnd({ apiKey: hang, timeoutMs: 4_000 }),
    /^API_KEY_UNAVAILABLE: .*apiKey.* did not return within timeoutMs \(4000\)/,
  ],
  [
    "the token exchange",
    () => callEnd({ fetch: hang, timeoutMs: 4_000 }),
    /^REQUEST_TIMEOUT: \w+: apiKey exchange: the request to \S+ took longer than timeoutMs \(4000\)/,
  ],
  [
    "a response",
    () => callEnd({ timeoutMs: 4_000 }, { respond: hang }),
    /^REQUEST_TIMEOUT: \w+: the request to \S+ took longer than timeoutMs \(4000\)/,
  ],
  [
    "the rest of a response",
    () => {
      const body = () => new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{"data":')) });
      return callEnd({ timeoutMs: 4_000 }, { respond: async () => new Response(body()) });
    },
    /^REQUEST_TIMEOUT: \w+: the request to \S+ took longer than timeoutMs \(4000\)/,
  ],
  [
    "a whole call",
    () => callEnd({}, { respond: hang, deadlineMs: 3_000 }),
    /^DEADLINE_EXCEEDED: \w+: the call took longer than deadlineMs \(3000\)/,
  ],
  [
    "a permit of a rate limit that other calls use up",
    async () => {
      const { engine, service } = createEngineFixture({ legs: constantLegs(1) });
      const call = (deadlineMs: number) => engine.execute(probe.query, {}, { deadlineMs });
      const calls = Array.from({ length: 121 }, (_, index) => call(index < 120 ? 60_000 : 5_000));
      for (const call of calls) call.catch(() => {});
      return endOf(calls.at(-1) as Promise<unknown>, service.clock, 30_000);
    },
    /^RATE_LIMIT_WAIT_EXCEEDED: \w+: the rate limit is used up .*deadlineMs/,
  ],
  [
    "a rate limit store that does not respond",
    () => {
      const store = { acquire: hang, block: hang } as never;
      return callEnd({ rateLimit: { store } });
    },
    /^RATE_LIMIT_STORE_FAILED: .*store.* within 5000 ms/,
  ],
  [
    "the end of a task",
    () => {
      const engine = createFakeEngine({ respond: hang });
      const poller = createTaskPoller(engine, pollerOptions(engine));
      return endOf(
        poller.waitFor("00000000-0000-4000-8000-000000000001", { deadlineMs: 7_000 }),
        engine.clock,
        8_000,
      );
    },
    /^DEADLINE_EXCEEDED: task [0-9-]+ did not finish within deadlineMs \(7000\)/,
  ],
  [
    "a response to an upload request",
    () => {
      const engine = createFakeEngine();
      const uploads = createUploads(engine, { ...uploadsOptions(engine), fetch: hang });
      const upload = uploads.upload(Buffer.from("w2"), { fileName: "w2.pdf", mimeType: "application/pdf" });
      return endOf(upload, engine.clock, 3_600_000);
    },
    /^UPLOAD_FAILED: .* < REQUEST_TIMEOUT: an upload request took longer than timeoutMs \(\d+\)/,
  ],
];

describe("an error that ends a wait of the SDK names what was waited for, and the limit", () => {
  it.each(waits)("when a call waits for %s", async (_wait, end, expected) => {
    expect(await end()).toMatch(expected);
  });
});
