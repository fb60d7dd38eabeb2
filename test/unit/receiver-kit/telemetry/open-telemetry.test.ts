import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { memoryInbox, type ReceiverTelemetry, silentLogger } from "@workspace-tasks/receiver-kit";
import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
import { rabbitmqConsumer, rabbitmqIntake } from "@workspace-tasks/receiver-rabbitmq";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createFixtureClock, createReceiverFixture } from "../../../support/receiver-fixture.ts";
import { sampleEvent } from "../../../support/sample-event.ts";
import { secretX, signDelivery } from "../../../support/signed-delivery.ts";

const spans = new InMemorySpanExporter();
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
const storage = new AsyncLocalStorage<api.Context>();

beforeAll(() => {
  api.context.setGlobalContextManager({
    active: () => storage.getStore() ?? api.ROOT_CONTEXT,
    with: (context, run, self, ...args) => storage.run(context, () => run.call(self as never, ...args)),
    bind: (_context, target) => target,
    enable: () => api.context as never,
    disable: () => api.context as never,
  });
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
});
afterEach(() => spans.reset());
afterAll(async () => {
  await reader.shutdown();
  for (const part of [api.context, api.trace, api.metrics]) part.disable();
});

const throws = (): never => {
  throw new Error("telemetry failed");
};
const fails = async (): Promise<never> => throws();
const hangs = () => new Promise<never>(() => {});
const remote = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const traceparent = `00-${remote.traceId}-${remote.spanId}-01`;

function createFixture(options: Parameters<typeof createReceiverFixture>[0] = {}) {
  const clock = createFixtureClock();
  const fixture = createReceiverFixture({ telemetry: openTelemetry(api, { clock }), clock, ...options });
  const send = (headers: Record<string, string>, secret?: string) => {
    const body = JSON.stringify(sampleEvent({ taskId: "task-1" }));
    const timestampSeconds = Math.floor(clock.now() / 1000);
    const delivery = signDelivery({ body, id: "msg_1", timestampSeconds, ...(secret && { secret }) });
    const init = { method: "POST", headers: { ...delivery.headers, ...headers }, body };
    return fixture.receiver.fetch(new Request("https://receiver.example/", init));
  };
  return { fixture, send, clock, receiver: fixture.receiver };
}

/** Points of the last collection, by instrument. */
async function collect() {
  await reader.forceFlush();
  const scopes = exporter.getMetrics().at(-1)?.scopeMetrics ?? [];
  return new Map(
    scopes
      .flatMap((scope) => scope.metrics)
      .map(({ descriptor, dataPoints }) => [descriptor.name, { descriptor, dataPoints }]),
  );
}

describe("openTelemetry", () => {
  it("puts acceptance, each attempt and the spans of handlers into the trace of the request", async () => {
    const { fixture, send, clock, receiver } = createFixture({ retry: { firstDelayMs: 1_000 } });
    await using _ = fixture;
    const contexts: (string | undefined)[] = [];
    receiver.on("*", async (_event, context) => {
      contexts.push(context.traceparent);
      await Promise.resolve();
      api.trace.getTracer("application").startSpan("handler").end();
      if (context.attempt === 1) throw new TypeError("secret detail");
    });
    expect((await send({ traceparent })).status).toBe(200);
    await receiver.start();
    await clock.advance(3_000);
    const finished = spans.getFinishedSpans();
    expect(finished.map(({ name }) => name)).toEqual([
      ...["accept default", "handler", "handle default", "handler", "handle default"],
    ]);
    const [accept, , first, second, last] = finished;
    expect(new Set(finished.map((span) => span.spanContext().traceId))).toEqual(new Set([remote.traceId]));
    expect(accept?.parentSpanContext?.spanId).toBe(remote.spanId);
    expect(first?.parentSpanContext?.spanId).toBe(accept?.spanContext().spanId);
    expect(second?.parentSpanContext?.spanId).toBe(last?.spanContext().spanId);
    expect(contexts).toEqual(Array(2).fill(`00-${remote.traceId}-${accept?.spanContext().spanId}-01`));
    expect(accept).toMatchObject({
      kind: api.SpanKind.CONSUMER,
      attributes: {
        "messaging.system": "workspace_tasks",
        "messaging.destination.name": "default",
        "messaging.operation.name": "accept",
        "messaging.operation.type": "receive",
        "messaging.message.id": "msg_1",
        "http.response.status_code": 200,
        "workspace_tasks.outcome": "accepted",
      },
    });
    expect(first).toMatchObject({
      status: { code: api.SpanStatusCode.ERROR },
      attributes: {
        "messaging.operation.type": "process",
        "workspace_tasks.event": "task.running",
        "workspace_tasks.attempt": 1,
        "workspace_tasks.outcome": "retried",
        "error.type": "TypeError",
      },
    });
    expect(last?.attributes).toMatchObject({
      "workspace_tasks.attempt": 2,
      "workspace_tasks.outcome": "done",
    });
    expect(JSON.stringify(finished.map(({ attributes }) => attributes))).not.toContain("secret detail");
  });

  it("makes the active span the parent, before the request's own traceparent", async () => {
    const { fixture, send } = createFixture();
    await using _ = fixture;
    const server = api.trace.getTracer("http").startSpan("POST /webhooks");
    await api.context.with(api.trace.setSpan(api.ROOT_CONTEXT, server), () => send({ traceparent }));
    server.end();
    const [accept] = spans.getFinishedSpans();
    expect(accept?.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
  });

  it("reports rejections with their code, and outages as errors", async () => {
    const { fixture, send } = createFixture({
      secrets: () => {
        throw new Error("store is down");
      },
    });
    await using _ = fixture;
    await send({ traceparent: "00-malformed" });
    const other = createFixture();
    await using __ = other.fixture;
    await other.send({}, secretX);
    expect(spans.getFinishedSpans()).toMatchObject([
      {
        parentSpanContext: undefined,
        status: { code: api.SpanStatusCode.ERROR },
        attributes: { "http.response.status_code": 503, "error.type": "SECRETS_UNAVAILABLE" },
      },
      {
        status: { code: api.SpanStatusCode.UNSET },
        attributes: { "http.response.status_code": 401, "error.type": "SIGNATURE_MISMATCH" },
      },
    ]);
  });

  it("observes the numbers of open receivers, and records durations", async () => {
    const telemetry = openTelemetry(api);
    const clock = createFixtureClock();
    const inbox = memoryInbox({ clock });
    const one = createReceiverFixture({ source: "one", telemetry, clock, inbox });
    const two = createReceiverFixture({ source: "two", telemetry, clock, inbox });
    for (const { receiver } of [one, two]) await receiver.start();
    await one.deliver(sampleEvent());
    await clock.advance(1_000);
    const collected = await collect();
    const deliveries = collected.get("workspace_tasks.receiver.deliveries");
    expect(deliveries?.descriptor).toMatchObject({ type: "OBSERVABLE_COUNTER", unit: "{delivery}" });
    // Those of other tests are exported as well.
    const accepted = deliveries?.dataPoints.filter(
      ({ attributes }) =>
        attributes["outcome"] === "accepted" && ["one", "two"].includes(String(attributes["source"])),
    );
    expect(accepted).toMatchObject([
      { attributes: { source: "one" }, value: 1 },
      { attributes: { source: "two" }, value: 0 },
    ]);
    const durations = collected.get("messaging.process.duration");
    expect(durations?.descriptor.unit).toBe("s");
    const ofOne = durations?.dataPoints.find(
      ({ attributes }) => attributes["messaging.destination.name"] === "one",
    );
    expect(ofOne).toMatchObject({
      attributes: { "workspace_tasks.outcome": "done", "messaging.operation.name": "handle" },
      value: { count: 1 },
    });
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
    const stats = await Promise.all([one.receiver.stats(), two.receiver.stats()]);
    expect(stats.map(({ source }) => source)).toEqual(["one", "two"]);
  });

  it("tells receivers of one source apart by attributes, and observes an intake and a consumer", async () => {
    const clock = createFixtureClock();
    const shards = ["0", "1"].map((shard) =>
      createReceiverFixture({ clock, telemetry: openTelemetry(api, { clock, attributes: { shard } }) }),
    );
    for (const { receiver } of shards) await receiver.start();
    await shards[1]?.deliver(sampleEvent());
    const unreachable = {
      urls: ["amqp://127.0.0.1:1"],
      telemetry: openTelemetry(api, { clock }),
      logger: silentLogger,
    };
    const intake = rabbitmqIntake({ ...unreachable, secrets: [secretX] });
    const accept = async () => ({ outcome: "accepted" }) as const;
    const consumer = rabbitmqConsumer({ ...unreachable, receivers: [{ accept, source: "portal" }] });
    await Promise.all([intake.start(), consumer.start()]);
    const pointsOf = async (name: string) => (await collect()).get(name)?.dataPoints ?? [];
    const accepted = (await pointsOf("workspace_tasks.receiver.deliveries")).filter(
      ({ attributes }) => attributes["outcome"] === "accepted" && attributes["shard"] !== undefined,
    );
    expect(accepted).toMatchObject([
      { attributes: { source: "default", shard: "0" }, value: 0 },
      { attributes: { source: "default", shard: "1" }, value: 1 },
    ]);
    expect(await pointsOf("workspace_tasks.intake.in_flight")).toMatchObject([
      { attributes: { source: "default" }, value: 0 },
    ]);
    const unavailable = await pointsOf("workspace_tasks.rabbitmq.unavailable");
    expect(unavailable.map(({ attributes }) => attributes)).toEqual([
      { source: "default", side: "intake" },
      { source: "portal", side: "consumer" },
    ]);
    await Promise.all([
      intake.close(),
      consumer.close(),
      ...shards.map((each) => each[Symbol.asyncDispose]()),
    ]);
  });

  const observe = () => () => {};
  /** Does the work, and then what `end` does. */
  const whenDone = (end: () => Promise<never>): ReceiverTelemetry => ({
    accept: (_start, run) => run(undefined).then(end),
    observe,
    handle: (_start, run) => run(() => {}).then(end),
  });

  it.each<[string, ReceiverTelemetry]>([
    ["before", { accept: fails, handle: fails, observe }],
    ["after", whenDone(fails)],
    ["without", { accept: hangs, handle: hangs, observe }],
    ["and hangs after", whenDone(hangs)],
    [
      "from the report of a failure during",
      { accept: (_start, run) => run(undefined), handle: (_start, run) => run(throws), observe },
    ],
  ])("cannot fail a delivery: one that throws or hangs %s the work changes nothing", async (_, telemetry) => {
    const { fixture, send, clock, receiver } = createFixture({ telemetry });
    await using _fixture = fixture;
    let handled = 0;
    receiver.on("*", (_event, { attempt }) => {
      if (attempt === 1) throw new Error("the first attempt fails");
      handled++;
    });
    await receiver.start();
    expect((await send({})).status).toBe(200);
    await clock.advance(5_000);
    expect(handled).toBe(1);
    expect(await fixture.stateOf("msg_1")).toBe("done");
  });
});
