// The part of `@opentelemetry/api` that is used. The package is passed in by the caller, so that this one does not need
// it, neither at run time nor for its types.

export type Attributes = Record<string, string | number | boolean>;

export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

export interface Span {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { code: number }): unknown;
  end(): void;
}

/** A context of OpenTelemetry; only passed on. */
export type Context = unknown;

export interface ObservableResult {
  observe(instrument: never, value: number, attributes?: Attributes): void;
}

interface InstrumentOptions {
  description: string;
  unit: string;
  advice?: { explicitBucketBoundaries: number[] };
}

export interface Histogram {
  record(value: number, attributes?: Attributes, context?: never): void;
}

export interface Meter {
  createObservableCounter(name: string, options: InstrumentOptions): unknown;
  createObservableGauge(name: string, options: InstrumentOptions): unknown;
  createHistogram(name: string, options: InstrumentOptions): Histogram;
  addBatchObservableCallback(
    callback: (result: ObservableResult) => Promise<void>,
    instruments: never[],
  ): void;
}

export interface Tracer {
  startSpan(name: string, options: { kind: number; attributes: Attributes }, context?: never): Span;
}

/** `import * as api from "@opentelemetry/api"` fits. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): Tracer;
    getSpan(context: never): Span | undefined;
    setSpan(context: never, span: never): Context;
    setSpanContext(context: never, spanContext: SpanContext): Context;
    isSpanContextValid(spanContext: SpanContext): boolean;
  };
  readonly metrics: { getMeter(name: string): Meter };
  readonly context: {
    active(): Context;
    with<Result>(context: never, run: () => Result): Result;
  };
  readonly ROOT_CONTEXT: Context;
  readonly SpanKind: { readonly CONSUMER: number };
  readonly SpanStatusCode: { readonly ERROR: number };
}
