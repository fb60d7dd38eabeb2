// Spans and instruments of OpenTelemetry. Attributes follow its conventions for messaging where they have a name for
// the thing; the rest is under `workspace_tasks`. No attribute has a body, a secret or a field of an event besides its name.

import type * as otel from "@opentelemetry/api";
import type { Clock } from "@workspace-tasks/kernel/clock.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { refine, strictOptions, withDefault } from "@workspace-tasks/kernel/schema.ts";
import { isReceiverError } from "../errors.ts";
import { parseOptions, sharedOptions } from "../options.ts";
import type { AcceptEnd, AcceptStart, HandleStart } from "../stats/delivery-telemetry.ts";
import type { ObservedStats, ReceiverTelemetry } from "../stats/receiver-telemetry.ts";
import { metrics } from "./metrics.ts";

/** `import * as api from "@opentelemetry/api"`. Passed in: this package imports its types alone. */
export type OpenTelemetryApi = Pick<
  typeof otel,
  "trace" | "metrics" | "context" | "ROOT_CONTEXT" | "SpanKind" | "SpanStatusCode"
>;

const instrumentationName = "@workspace-tasks/receiver-kit";
/** Seconds: from a handler that writes one row to the longest time limits. */
const boundaries = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600,
];

const openTelemetryApi = refine<OpenTelemetryApi>(
  'the package @opentelemetry/api: import * as api from "@opentelemetry/api"',
  (given) => {
    const { trace, metrics, context } = (given ?? {}) as Partial<OpenTelemetryApi>;
    return (
      typeof trace?.getTracer === "function" &&
      typeof metrics?.getMeter === "function" &&
      typeof context?.with === "function"
    );
  },
);

export interface OpenTelemetryOptions {
  /** Measures durations. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Attributes of every measurement: the shard, where several receivers have the same source. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

const openTelemetryOptions = strictOptions<OpenTelemetryOptions>()({
  clock: sharedOptions.clock,
  attributes: withDefault(
    refine<Readonly<Record<string, string>>>(
      "an object of texts",
      (given) => isPlainObject(given) && Object.values(given).every((value) => typeof value === "string"),
    ),
    {},
  ),
});

/**
 * Reports receivers to OpenTelemetry: a span for each request and each attempt, in one trace from acceptance to the last
 * attempt; histograms of their durations; and the numbers of `receiver.stats()` as observable instruments. Pass it as
 * the receiver's option `telemetry`, also to several receivers.
 *
 * The providers are those registered with the API when this is called.
 *
 * @example examples/receiver-telemetry.ts#open-telemetry
 * ```ts
 * import { createServer } from "node:http";
 * import * as api from "@opentelemetry/api";
 * import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
 * import { MeterProvider } from "@opentelemetry/sdk-metrics";
 * import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
 * import { openTelemetry } from "@workspace-tasks/receiver-kit/telemetry";
 *
 * // Here for Prometheus; other readers and exporters of OpenTelemetry fit, too.
 * const exporter = new PrometheusExporter({ preventServerStart: true });
 * const metricsServer = createServer((request, response) => {
 *   exporter.getMetricsRequestHandler(request, response);
 * });
 * api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
 *
 * const secrets: string[] = [];
 * const receiver = createReceiver({
 *   secrets: () => secrets,
 *   inbox: memoryInbox(), // for this example; in production use sqliteInbox or postgresInbox
 *   telemetry: openTelemetry(api), // after the providers are registered, as with every instrumentation
 * });
 * ```
 *
 * @throws {ReceiverError} `CONFIGURATION_INVALID`
 */
export function openTelemetry(api: OpenTelemetryApi, options: OpenTelemetryOptions = {}): ReceiverTelemetry {
  parseOptions("openTelemetry: api", openTelemetryApi, api);
  const { clock, attributes: own } = parseOptions("openTelemetry", openTelemetryOptions, options);
  const secondsSince = (startedMs: number) => (clock.monotonic() - startedMs) / 1_000;
  const meter = api.metrics.getMeter(instrumentationName);
  const histogram = (name: string, description: string) =>
    meter.createHistogram(name, {
      description,
      unit: "s",
      advice: { explicitBucketBoundaries: boundaries },
    });
  const histograms = {
    accept: histogram("workspace_tasks.receiver.accept.duration", "Time to respond to a request."),
    handle: histogram("messaging.process.duration", "Duration of one attempt to handle an event."),
    wait: histogram(
      "workspace_tasks.receiver.wait.duration",
      "Time from storing an event to its first attempt.",
    ),
  };
  const spans = createSpans(api);

  return {
    observe: createObserver(api, own),
    async accept(start, run) {
      const startedMs = clock.monotonic();
      const parent = api.trace.getSpan(api.context.active())
        ? api.context.active()
        : spans.remote(start.traceparent);
      return spans.run(parent, "accept", acceptAttributes(start), async (span) => {
        const end = await run(spans.traceparentOf(span) ?? start.traceparent);
        const attributes = endAttributes(end);
        span.setAttributes(attributes);
        if (end.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
        histograms.accept.record(secondsSince(startedMs), {
          ...destination(start),
          ...own,
          ...pick(attributes, "http.response.status_code", "error.type"),
        });
        return end;
      });
    },
    async handle(start, run) {
      const startedMs = clock.monotonic();
      if (start.attempt === 1)
        histograms.wait.record(start.waitedMs / 1_000, { ...destination(start), ...own });
      return spans.run(spans.remote(start.traceparent), "handle", handleAttributes(start), async (span) => {
        let failure: string | undefined;
        const outcome = await run((error) => {
          failure = errorType(error);
        });
        const ended = { "workspace_tasks.outcome": outcome, ...(failure && { "error.type": failure }) };
        span.setAttributes(ended);
        if (outcome === "retried" || outcome === "dead") span.setStatus({ code: api.SpanStatusCode.ERROR });
        histograms.handle.record(secondsSince(startedMs), {
          ...destination(start),
          ...own,
          "messaging.operation.name": "handle",
          ...ended,
        });
        return outcome;
      });
    },
  };
}

function createSpans(api: OpenTelemetryApi) {
  const tracer = api.trace.getTracer(instrumentationName);
  return {
    /** Runs in the context of the span, so that spans of databases and HTTP clients become its children. */
    async run<Result>(
      parent: otel.Context,
      operation: "accept" | "handle",
      attributes: otel.Attributes,
      work: (span: otel.Span) => Promise<Result>,
    ): Promise<Result> {
      const name = `${operation} ${attributes["messaging.destination.name"]}`;
      const kind = api.SpanKind.CONSUMER;
      const span = tracer.startSpan(name, { kind, attributes }, parent);
      try {
        return await api.context.with(api.trace.setSpan(parent, span), () => work(span));
      } catch (error) {
        span.setStatus({ code: api.SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    /** A root context under the span of a valid `traceparent`. */
    remote(traceparent: string | undefined): otel.Context {
      const [, traceId, spanId, flags] = traceparent?.split("-") ?? [];
      if (!traceId || !spanId || !flags) return api.ROOT_CONTEXT;
      const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
      return api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext);
    },
    traceparentOf(span: otel.Span): string | undefined {
      const spanContext = span.spanContext();
      if (!api.trace.isSpanContextValid(spanContext)) return undefined;
      const flags = (spanContext.traceFlags & 0xff).toString(16).padStart(2, "0");
      return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
    },
  };
}

/** The instruments are created with the first receiver, and observed while at least one is open. */
function createObserver(api: OpenTelemetryApi, own: otel.Attributes): ReceiverTelemetry["observe"] {
  const readers = new Set<() => Promise<ObservedStats>>();
  let created = false;
  const create = () => {
    created = true;
    const meter = api.metrics.getMeter(instrumentationName);
    const observed = metrics.map(({ name, type, unit, help, samples }) => {
      const options = { description: help, unit };
      const instrument =
        type === "counter"
          ? meter.createObservableCounter(name, options)
          : meter.createObservableGauge(name, options);
      return { instrument, samples };
    });
    meter.addBatchObservableCallback(
      async (result) => {
        // A receiver whose inbox is unavailable has no numbers now.
        const read = await Promise.allSettled([...readers].map((readStats) => readStats()));
        for (const stats of read.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))) {
          for (const { instrument, samples } of observed) {
            for (const { labels, value } of samples(stats))
              result.observe(instrument, value, { source: stats.source, ...own, ...labels });
          }
        }
      },
      observed.map(({ instrument }) => instrument),
    );
  };
  return (readStats) => {
    if (!created) create();
    readers.add(readStats);
    return () => void readers.delete(readStats);
  };
}

const destination = ({ source }: { readonly source: string }): otel.Attributes => ({
  "messaging.system": "workspace_tasks",
  "messaging.destination.name": source,
});

function acceptAttributes(start: AcceptStart): otel.Attributes {
  return {
    ...destination(start),
    "messaging.operation.name": "accept",
    "messaging.operation.type": "receive",
  };
}

function endAttributes({ status, code, id, tenant, bodyBytes, outcome }: AcceptEnd): otel.Attributes {
  return defined({
    "http.response.status_code": status,
    "error.type": code,
    "messaging.message.id": id,
    "messaging.message.body.size": bodyBytes,
    "workspace_tasks.tenant": tenant,
    "workspace_tasks.outcome": outcome,
  });
}

function handleAttributes(start: HandleStart): otel.Attributes {
  return defined({
    ...destination(start),
    "messaging.operation.name": "handle",
    "messaging.operation.type": "process",
    "messaging.message.id": start.id,
    "messaging.message.body.size": start.bodyBytes,
    "workspace_tasks.tenant": start.tenant,
    "workspace_tasks.event": start.event ?? undefined,
    "workspace_tasks.channel": start.channel,
    "workspace_tasks.attempt": start.attempt,
  });
}

/** A code, or the name of a class: messages may contain anything. */
function errorType(error: unknown): string {
  if (isReceiverError(error)) return error.code;
  return isError(error) ? error.name : typeof error;
}

function defined(attributes: Readonly<Record<string, string | number | undefined>>): otel.Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
}

function pick(attributes: otel.Attributes, ...names: readonly string[]): otel.Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.includes(name)));
}
