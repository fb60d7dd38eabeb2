// Creates an OpenTelemetry span for every call of the SDK.
// The SDK does not depend on OpenTelemetry: it publishes to node:diagnostics_channel, and the example subscribes. The
// listener runs in the async context of the caller, so each span is a child of the span around the call.

// #region spans
import { subscribe } from "node:diagnostics_channel";
import { SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { DiagnosticsChannel, DiagnosticsEvents } from "@workspace-tasks/sdk";

function traceWorkspaceTasks(tracer: Tracer): void {
  on("workspace-tasks:call:end", (event) => {
    const endedAtMs = Date.now();
    const span = tracer.startSpan(`${event.kind} ${event.operationName ?? "anonymous"}`, {
      kind: SpanKind.CLIENT,
      startTime: endedAtMs - event.durationMs,
      attributes: {
        "graphql.operation.type": event.kind,
        "graphql.operation.name": event.operationName ?? "",
        "workspace_tasks.router": event.router,
        "workspace_tasks.attempts": event.attempts,
        "workspace_tasks.queued_ms": event.queuedMs, // time in the rate limiter's queue
      },
    });
    if (!event.ok) {
      span.setAttribute("error.type", event.code ?? "unknown");
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(endedAtMs);
  });
}

function on<Name extends DiagnosticsChannel>(name: Name, listener: (event: DiagnosticsEvents[Name]) => void) {
  subscribe(name, (event) => listener(event as DiagnosticsEvents[Name]));
}
// #endregion

const { createMockServer } = await import("@workspace-tasks/mock-server");
const { createClient } = await import("@workspace-tasks/sdk");

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
traceWorkspaceTasks(provider.getTracer("workspace-tasks"));

await using mock = await createMockServer();
await mock.control.setFaults({ api: [{ operation: "me", instructions: [{ kind: "status", status: 503 }] }] });
await using client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
await client.me(); // the first attempt gets a 503
await client.webhooks.endpoints.delete("00000000-0000-4000-8000-000000000000").catch(() => {}); // no such endpoint

const spans = exporter.getFinishedSpans();
for (const { name, attributes, status } of spans) {
  const failed = status.code === SpanStatusCode.ERROR ? ` failed: ${attributes["error.type"]}` : "";
  console.log(`${name}: ${attributes["workspace_tasks.attempts"]} attempt(s)${failed}`);
}
process.exitCode = spans.length === 2 ? 0 : 1;
