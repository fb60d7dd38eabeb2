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
  /** Those that a rule reads, see `redact-headers.ts`. */
  readonly headers: Readonly<Record<string, string>>;
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

export type Observation = Responded | Failed | Skipped;

/** The newest observation of each probe. */
export type Evidence = ReadonlyMap<string, Observation>;

export const toEvidence = (observations: readonly Observation[]): Evidence =>
  new Map(observations.map((observation) => [observation.probe, observation]));
