// The port between the receiver and tracing: without telemetry nothing of this is built.

export interface AcceptStart {
  readonly source: string;
  /** The valid `traceparent` of the request. */
  readonly traceparent: string | undefined;
}

/** How a request ended. */
export interface AcceptEnd {
  readonly status: number;
  /** The code of a rejection or an outage. */
  readonly code?: string | undefined;
  /** The id of a verified delivery. */
  readonly id?: string | undefined;
  readonly tenant?: string | undefined;
  readonly bodyBytes?: number | undefined;
  readonly outcome?: string | undefined;
}

export interface HandleStart {
  readonly source: string;
  readonly tenant: string | undefined;
  readonly id: string;
  readonly channel: string;
  /** Name of the event. */
  readonly event: string | null;
  readonly attempt: number;
  readonly bodyBytes: number;
  /** Since the delivery was stored. */
  readonly waitedMs: number;
  /** What `accept` passed on, as the row kept it. */
  readonly traceparent: string | undefined;
}

/**
 * Both methods call `run` before they return. What they return is ignored: work begins without a `run` that was not
 * called, and waits for no report.
 */
export interface DeliveryTelemetry {
  /** Runs the acceptance of one request; the argument of `run` is the `traceparent` that the row keeps. */
  accept<End extends AcceptEnd>(
    start: AcceptStart,
    run: (traceparent: string | undefined) => Promise<End>,
  ): Promise<End>;
  /** Runs one attempt; `onFailed` is called with the error of a failed one. */
  handle<Outcome extends string>(
    start: HandleStart,
    run: (onFailed: (error: unknown) => void) => Promise<Outcome>,
  ): Promise<Outcome>;
}

/**
 * Runs `work` once, inside `report` where that calls it. Telemetry may throw, reject, or never resolve: neither a response
 * nor an event depends on it.
 */
export function reported<Argument, Result>(
  work: (argument?: Argument) => Promise<Result>,
  report: (run: (argument?: Argument) => Promise<Result>) => Promise<unknown>,
): Promise<Result> {
  let working: Promise<Result> | undefined;
  const run = (argument?: Argument) => {
    working ??= work(argument);
    return working;
  };
  try {
    report(run).catch(() => {});
  } catch {
    // It threw before it returned a promise, or returned something else.
  }
  return run();
}
