/**
 * What can go wrong on a call to the API. `pass` lets one call through, so that a list of instructions
 * can say "the third call fails".
 */
export type ApiFault =
  | { readonly kind: "pass" }
  /** Answers with this HTTP status instead of running the operation. */
  | { readonly kind: "status"; readonly status: number; readonly retryAfterSeconds?: number | undefined }
  /** Answers 200 with a GraphQL error instead of running the operation. */
  | { readonly kind: "graphql-error"; readonly message: string; readonly code?: string | undefined }
  /** Runs the operation, answers this much later (on the mock's clock). */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** Runs the operation, sends status and headers, and then nothing more. */
  | { readonly kind: "stall" }
  /** Cuts the connection without running the operation. */
  | { readonly kind: "reset-before-effect" }
  /** Runs the operation and cuts the connection instead of answering. */
  | { readonly kind: "reset-after-effect" }
  /** Runs the operation, sends this many bytes of the answer and cuts the connection. Default: half. */
  | { readonly kind: "truncate"; readonly bytes?: number | undefined }
  /** Answers with a proxy's HTML page instead of running the operation. Default status: 502. */
  | { readonly kind: "html"; readonly status?: number | undefined }
  /** The presented token expires now, for this call and all later ones. */
  | { readonly kind: "expire-token" }
  /** Uses up this many requests of the key's allowance. Default: all that are left. */
  | { readonly kind: "burn-quota"; readonly requests?: number | undefined };

/** What can go wrong with one attempt of a delivery. */
export type DeliveryFault =
  | { readonly kind: "pass" }
  /** Sends the attempt this many times more. */
  | { readonly kind: "duplicate"; readonly copies?: number | undefined }
  /** Holds the attempt back until the next one to the same endpoint has gone out. */
  | { readonly kind: "reorder" }
  /** Sends the attempt later, on the mock's clock. */
  | { readonly kind: "delay"; readonly delayMs: number }
  /** The attempt is lost on the way; the retry schedule goes on. */
  | { readonly kind: "drop" }
  /** Signs with a secret the endpoint never had. */
  | { readonly kind: "wrong-signature" }
  /** Signs a timestamp that lies back. Default: 600 s. */
  | { readonly kind: "stale-timestamp"; readonly ageSeconds?: number | undefined }
  /** Signs with the oldest secret still in its grace period only. */
  | { readonly kind: "old-secret-only" }
  /** Changes the body after it was signed. */
  | { readonly kind: "altered-body" }
  /** A proxy in front of the receiver answers 302; the receiver sees nothing. */
  | { readonly kind: "redirect" };

/** A fault that happens with a probability, drawn from the mock's seed. */
export type ProbabilisticFault<Fault> = { readonly probability: number; readonly fault: Fault };

export type ApiFaultRule = {
  /** Id of an API key or partner key; absent: every caller. */
  readonly keyId?: string | undefined;
  readonly router?: "base" | "gateway" | undefined;
  /**
   * Name of a top-level field, such as `createWebhookEndpoint`, or `upload.post`, `upload.patch`,
   * `upload.head`, `upload.delete`; absent: every operation.
   */
  readonly operation?: string | undefined;
  /** Used up in order, one per matching call; then all is normal again. */
  readonly instructions?: readonly ApiFault[] | undefined;
  readonly chances?: readonly ProbabilisticFault<ApiFault>[] | undefined;
};

export type DeliveryFaultRule = {
  readonly endpointId?: string | undefined;
  readonly event?: string | undefined;
  /** Used up in order, one per matching attempt; then all is normal again. */
  readonly instructions?: readonly DeliveryFault[] | undefined;
  readonly chances?: readonly ProbabilisticFault<DeliveryFault>[] | undefined;
};

export type FaultPlan = {
  readonly api?: readonly ApiFaultRule[] | undefined;
  readonly deliveries?: readonly DeliveryFaultRule[] | undefined;
};

/** One fault that happened. */
export type FiredFault<Fault = ApiFault | DeliveryFault> = {
  readonly sequence: number;
  readonly atMs: number;
  readonly side: "api" | "delivery";
  /** Position of the rule in its list. */
  readonly rule: number;
  readonly fault: Fault;
  /** The operation, or the delivery's id. */
  readonly subject: string;
};
