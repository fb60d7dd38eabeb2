// What is known of a response afterwards: types, codes, lengths and relations, and no text that the service stores. A
// record of a run consists of these, and every rule reads nothing else, so a record can be evaluated again elsewhere.

/** A redacted value: text is replaced by a tag that says what kind of text it was, see `redact-data.ts`. */
export type Shape = null | boolean | string | readonly Shape[] | { readonly [key: string]: Shape };

export interface ErrorShape {
  /** Words that are no technical vocabulary are replaced by `…`. */
  readonly message: string;
  readonly code: string | null;
  readonly path: readonly (string | number)[] | null;
  /** The message proposes names: "Did you mean …". */
  readonly suggests: boolean;
  /** A stack trace or a path of a file is part of the error. */
  readonly leaks: boolean;
}

export interface ResponseShape {
  readonly status: number;
  /** Without parameters; `none` when it has no usual form. */
  readonly contentType: string;
  readonly body: "graphql" | "json" | "html" | "text" | "empty";
  readonly data?: Shape | undefined;
  readonly errors?: readonly ErrorShape[] | undefined;
}

interface Common {
  readonly probe: string;
  /** Milliseconds since the start of the run. */
  readonly atMs: number;
}

export interface Responded extends Common {
  readonly outcome: "response";
  readonly durationMs: number;
  readonly response: ResponseShape;
}

/** The service could not be reached, or did not respond as a service, after all attempts. */
export interface Failed extends Common {
  readonly outcome: "failed";
  readonly reason: string;
}

/** Nothing was sent. */
export interface Skipped extends Common {
  readonly outcome: "skipped";
  readonly reason: string;
}

/** One attempt of a delivery, without what it says about a client. */
export interface DeliveryShape {
  /** Milliseconds since the first attempt. */
  readonly atMs: number;
  /** Names of `webhook-…` headers. */
  readonly headers: readonly string[];
  readonly contentType: string;
  /** Numbers by which equal ids and bodies are equal. */
  readonly id: number;
  readonly body: number;
  /** `seconds`, or another form. */
  readonly timestamp: string;
  /** Seconds between the signed time and the arrival. */
  readonly ageSeconds: number;
  /** Version of each signature, and which of the secrets it verifies with: 0 is the newest, `null` none. */
  readonly signatures: readonly { readonly version: string; readonly secret: number | null }[];
  /** HTTP status of the response to it; `null` when it is not known. */
  readonly responded: number | null;
  readonly payload: Shape;
}

/** Deliveries that a receiver has captured. */
export interface Delivered extends Common {
  readonly outcome: "deliveries";
  readonly deliveries: readonly DeliveryShape[];
}

/** What several requests, or the deliveries of several endpoints, have shown together. */
export interface Measured extends Common {
  readonly outcome: "measured";
  readonly facts: Facts;
}

export type Facts = Readonly<Record<string, string | number | boolean | null>>;

export type Observation = Responded | Failed | Skipped | Delivered | Measured;

/** Observations that are no response of a probe. */
export const deliveriesProbe = "deliveries.captured";
export const changesProbe = "deliveries.changes";
export const rateLimitProbe = "rate-limit.measured";

/** The newest observation of each probe. */
export type Evidence = ReadonlyMap<string, Observation>;

export const toEvidence = (observations: readonly Observation[]): Evidence =>
  new Map(observations.map((observation) => [observation.probe, observation]));
