import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { diagnosticsChannels } from "../../../../sdk/call/diagnostics.ts";
import { createEngineFixture, probe } from "../../../support/engine-fixture.ts";

function listen() {
  const recorded: (readonly [name: string, event: unknown])[] = [];
  const note = (event: unknown, name: string | symbol) => void recorded.push([String(name), event]);
  for (const name of diagnosticsChannels) subscribe(name, note);
  const stop = () => {
    for (const name of diagnosticsChannels) unsubscribe(name, note);
  };
  return { recorded, [Symbol.dispose]: stop };
}

describe("diagnostics", () => {
  it("the events of a call arrive in order", async () => {
    using recorder = listen();
    let failures = 1;
    const headers = { "x-request-id": "r-1", "set-cookie": "a=1" };
    const { service, engine } = createEngineFixture({
      fault: () => (failures-- > 0 ? { type: "status", status: 502, headers } : undefined),
    });
    const call = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await call;
    const short = recorder.recorded.map(([name]) => name.replace("workspace-tasks:", ""));
    expect(short).toEqual([
      "call:start",
      "token:refresh",
      "call:attempt",
      "call:response",
      "call:retry",
      "call:attempt",
      "call:response",
      "call:end",
    ]);
    expect(recorder.recorded.at(-1)?.[1]).toMatchObject({
      operationName: "ProbeQuery",
      kind: "query",
      router: "base",
      ok: true,
      httpStatus: 200,
      attempts: 2,
      durationMs: expect.any(Number),
    });
    const first = { attempt: 1, httpStatus: 502, requestId: "r-1" };
    expect(recorder.recorded[3]?.[1]).toMatchObject({ ...first, headers: { "x-request-id": "r-1" } });
    const retry = { ...first, code: "SERVICE_UNAVAILABLE", reason: "repeat" };
    expect(recorder.recorded[4]?.[1]).toMatchObject(retry);
    expect(recorder.recorded[6]?.[1]).toMatchObject({ attempt: 2, httpStatus: 200, requestId: undefined });
    expect(JSON.stringify(recorder.recorded)).not.toContain("a=1");
  });

  it("a 429 causes an event with the wait after it", async () => {
    using recorder = listen();
    const { service, engine } = createEngineFixture();
    for (let count = 0; count < 120; count += 1) service.otherClientRequest();
    const call = engine.execute(probe.query, {});
    await service.clock.advance(70_000);
    await call;
    const named = new Map(recorder.recorded);
    expect(named.get("workspace-tasks:rate-limit")).toMatchObject({ retryAfterMs: 60_000 });
    expect(named.get("workspace-tasks:call:queued")).toMatchObject({ queuedMs: expect.any(Number) });
    expect(named.get("workspace-tasks:call:end")).toMatchObject({ ok: true, attempts: 2 });
  });

  it("the logger gets the events, retries and 429s as warnings", async () => {
    const lines: (readonly [level: string, message: string])[] = [];
    const level = (name: string) => (_: object, message: string) => void lines.push([name, message]);
    const logger = { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
    let failures = 1;
    const { service, engine } = createEngineFixture({
      client: { logger },
      fault: () => (failures-- > 0 ? { type: "status", status: 502 } : undefined),
    });
    const call = engine.execute(probe.query, {});
    await service.clock.advance(1_000);
    await call;
    expect(lines.filter(([name]) => name === "warn")).toEqual([["warn", "workspace-tasks:call:retry"]]);
    expect(lines.filter(([name]) => name === "debug")).toHaveLength(7);
  });
});
