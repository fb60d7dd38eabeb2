import { inspect } from "node:util";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { describe, expect, it, vi } from "vitest";
import { storeOf } from "../../../../receiver-kit/inbox/inbox.ts";
import { consoleLogger } from "../../../../receiver-kit/logger.ts";
import { createReceiverFixture, type ReceiverFixtureOptions } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../../../support/signed-delivery.ts";
import { overrideInbox } from "../../../support/wrap-inbox.ts";

function request(atMs: number, secret: string): Request {
  const body = JSON.stringify(sampleEvent());
  const { headers } = signDelivery({ body, timestampSeconds: Math.floor(atMs / 1000), secret });
  return new Request("http://receiver.example/webhooks", { method: "POST", headers, body });
}

const changed = (given: Request, headers: Record<string, string>) =>
  new Request(given, { headers: { ...Object.fromEntries(given.headers), ...headers } });

function consumed(given: Request): Request {
  void given.text();
  return given;
}

describe("the log of rejected requests", () => {
  it("shows the first rejection of each code at once, and onRejected receives all", async () => {
    const rejected: string[] = [];
    await using fixture = createReceiverFixture({ onRejected: ({ code }) => void rejected.push(code) });
    for (let i = 0; i < 3; i++) await fixture.receiver.fetch(request(fixture.clock.now(), secretX));
    await fixture.receiver.fetch(request(fixture.clock.now() - 3_600_000, secretA));
    const warnings = fixture.log.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => fields)).toEqual([
      { code: "SIGNATURE_MISMATCH", status: 401, requests: 1 },
      { code: "TIMESTAMP_TOO_OLD", status: 401, requests: 1 },
    ]);
    expect(warnings[0]?.message).toContain("another endpoint's secret");
    expect(rejected).toEqual([
      "SIGNATURE_MISMATCH",
      "SIGNATURE_MISMATCH",
      "SIGNATURE_MISMATCH",
      "TIMESTAMP_TOO_OLD",
    ]);
    expect(JSON.stringify(fixture.log)).not.toContain(secretA);
  });

  it.each<[string, Partial<ReceiverFixtureOptions>, (atMs: number) => Request]>([
    ["SIGNATURE_MISMATCH", {}, (atMs) => request(atMs, secretX)],
    ["TIMESTAMP_TOO_OLD", {}, (atMs) => request(atMs - 361_000, secretA)],
    ["TIMESTAMP_TOO_NEW", {}, (atMs) => request(atMs + 361_000, secretA)],
    ["BODY_TOO_LARGE", { limits: { bodyBytesMax: 10 } }, (atMs) => request(atMs, secretA)],
    ["BODY_ENCODED", {}, (atMs) => changed(request(atMs, secretA), { "content-encoding": "gzip" })],
    ["BODY_CONSUMED", {}, (atMs) => consumed(request(atMs, secretA))],
    ["BACKLOG_FULL", { backlogMax: 1 }, (atMs) => request(atMs, secretA)],
    ["TENANT_UNKNOWN", { secrets: { byTenant: () => undefined } }, (atMs) => request(atMs, secretA)],
  ])(
    "shows %s within one request when it begins an hour after a single case, then every ten minutes",
    async (code, options, next) => {
      await using fixture = createReceiverFixture(options);
      const { receiver, clock, log } = fixture;
      const requestsShown = () =>
        log.flatMap(({ fields }) =>
          "code" in fields && fields.code === code && "requests" in fields ? [fields.requests] : [],
        );
      if (code === "BACKLOG_FULL") await receiver.fetch(next(clock.now()));
      await receiver.fetch(next(clock.now()));
      expect(requestsShown()).toEqual([1]);
      await clock.advance("1h");
      for (let minute = 0; minute < 25; minute++) {
        await receiver.fetch(next(clock.now()));
        if (minute === 0) expect(requestsShown()).toEqual([1, 1]);
        await clock.advance("1m");
      }
      expect(requestsShown()).toEqual([1, 1, 10, 10]);
    },
  );

  it("shows why the function of the secrets fails, without what may be a secret in it", async () => {
    const secrets = () => JSON.parse(`${secretA}`) as string[];
    await using fixture = createReceiverFixture({ secrets });
    await fixture.receiver.fetch(request(fixture.clock.now(), secretA));
    const { fields } = fixture.log.find(({ level }) => level === "error") ?? {};
    expect(fields).toMatchObject({
      code: "SECRETS_UNAVAILABLE",
      reason: expect.stringMatching(/^SyntaxError: /),
    });
    expect(inspect(fields, { depth: null })).not.toContain(secretA.slice(0, 12));
  });

  it("shows an unexpected error of the receiver", async () => {
    const inbox = overrideInbox(storeOf(memoryInbox()), {
      insert: () => {
        throw new TypeError("not a function");
      },
    });
    await using fixture = createReceiverFixture({ inbox });
    const { status } = await fixture.receiver.fetch(request(fixture.clock.now(), secretA));
    const errors = fixture.log.filter(({ level }) => level === "error");
    expect([500, 503]).toContain(status);
    expect(errors).toHaveLength(1);
  });

  it("shows on stderr the causes of an error, and no field of them that has the values of a database", () => {
    const written: unknown[] = [];
    using _error = vi.spyOn(console, "error").mockImplementation((...values) => void written.push(...values));
    const cause = Object.assign(new Error('invalid input syntax for type integer: "Ada"'), {
      code: "22P02",
      detail: "Key (name)=(Ada) already exists.",
      parameters: ["Ada"],
    });
    consoleLogger.error({ id: "msg_1", err: new Error("not saved", { cause }) }, "an event is dead");
    const text = inspect(written, { depth: null });
    for (const part of ["msg_1", "not saved", "22P02", "invalid input syntax"]) expect(text).toContain(part);
    expect(text).not.toContain("Ada");
  });

  it("is written to stderr unless a logger is given", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await using receiver = createReceiver({ secrets: [secretA], inbox: memoryInbox() });
    await receiver.fetch(request(Date.now(), secretX));
    expect(warn).toHaveBeenCalledOnce();
    expect(String(warn.mock.calls[0]?.[0])).toMatch(
      /^workspace-tasks receiver: a request was rejected: none of 1/,
    );
    warn.mockRestore();
  });
});
