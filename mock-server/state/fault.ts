import * as z from "zod";

/** The two GraphQL routers: `/graphql` and `/gateway/graphql`. */
export const routerNames = z.enum(["base", "gateway"]);

export type Router = z.infer<typeof routerNames>;

/**
 * The type with every field and array read-only, at any depth. Objects with an index signature, such as the
 * payloads of `sdk/events`, stay as they are.
 */
export type Immutable<Value> = Value extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : Value extends object
    ? string extends keyof Value
      ? Value
      : { readonly [Name in keyof Value]: Immutable<Value[Name]> }
    : Value;

const delayMs = z
  .number()
  .nonnegative()
  .max(86_400_000 * 7);
/** A hundred years, before or after the present. */
const ageSeconds = z.int().min(-3_155_760_000).max(3_155_760_000);
const httpStatus = z.int().min(200).max(599);

export const apiFaultSchema = z.discriminatedUnion("kind", [
  /** Lets one call through, so that a list of instructions can say "the third call fails". */
  z.strictObject({ kind: z.literal("pass") }),
  /** Responds with this HTTP status instead of running the operation, as a proxy does: plain text. */
  z.strictObject({
    kind: z.literal("status"),
    status: httpStatus,
    retryAfterSeconds: z.int().nonnegative().optional(),
  }),
  /**
   * The service's own 429: `RATE_LIMITED` with `Retry-After` (default 1 s). Requests that the service does not count, such
   * as the token exchange, are let through and do not use it up.
   */
  z.strictObject({ kind: z.literal("rate-limited"), retryAfterSeconds: z.int().positive().optional() }),
  /** Responds 200 with a GraphQL error instead of running the operation. */
  z.strictObject({ kind: z.literal("graphql-error"), message: z.string(), code: z.string().optional() }),
  /** Runs the operation and responds this much later (on the mock's clock). */
  z.strictObject({ kind: z.literal("delay"), delayMs }),
  /** Runs the operation, sends status and headers, but never the body. */
  z.strictObject({ kind: z.literal("stall") }),
  /** Cuts the connection without running the operation. */
  z.strictObject({ kind: z.literal("reset-before-effect") }),
  /** Runs the operation and cuts the connection instead of responding. */
  z.strictObject({ kind: z.literal("reset-after-effect") }),
  /** Runs the operation, sends this many bytes of the response and cuts the connection. Default: half. */
  z.strictObject({ kind: z.literal("truncate"), bytes: z.int().nonnegative().optional() }),
  /** Responds with a proxy's HTML page instead of running the operation. Default status: 502. */
  z.strictObject({ kind: z.literal("html"), status: httpStatus.optional() }),
  /** The presented token expires now, for this call and all later ones. */
  z.strictObject({ kind: z.literal("expire-token") }),
  /** Uses up this many requests of the key's rate limit. Default: all that remain. */
  z.strictObject({ kind: z.literal("burn-quota"), requests: z.int().positive().optional() }),
]);

export const deliveryFaultSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("pass") }),
  /** Sends the attempt this many more times. Default: 1. */
  z.strictObject({ kind: z.literal("duplicate"), copies: z.int().min(1).max(100).optional() }),
  /** Defers the attempt until the next one to the same endpoint has been sent. */
  z.strictObject({ kind: z.literal("reorder") }),
  /** Sends the attempt later, on the mock's clock. */
  z.strictObject({ kind: z.literal("delay"), delayMs }),
  /** The attempt does not reach the receiver; the retry schedule continues. */
  z.strictObject({ kind: z.literal("drop") }),
  /** Signs with a secret the endpoint never had. */
  z.strictObject({ kind: z.literal("wrong-signature") }),
  /** Signs a timestamp in the past. Default: 600 s. */
  z.strictObject({ kind: z.literal("stale-timestamp"), ageSeconds: ageSeconds.optional() }),
  /** Signs only with the oldest secret that is still in its grace period. */
  z.strictObject({ kind: z.literal("old-secret-only") }),
  /** Changes the body after it was signed. */
  z.strictObject({ kind: z.literal("altered-body") }),
  /** A proxy in front of the receiver responds 302; the receiver gets no request. */
  z.strictObject({ kind: z.literal("redirect") }),
]);

const faultLists = <Fault extends z.ZodType>(fault: Fault) => ({
  /** Used up in order, one per matching call or attempt; after the last one none is injected. */
  instructions: z.array(fault).max(10_000).optional(),
  /** Drawn for each matching call or attempt from the mock's seed. */
  chances: z
    .array(z.strictObject({ probability: z.number().min(0).max(1), fault }))
    .max(100)
    .optional(),
});

const apiFaultRuleSchema = z.strictObject({
  /** Id of an API key or partner key; absent: every caller. */
  keyId: z.string().optional(),
  router: routerNames.optional(),
  /**
   * Name of a top-level field, such as `createWebhookEndpoint`, or `upload.post`, `upload.patch`,
   * `upload.head`, `upload.delete`; absent: every operation.
   */
  operation: z.string().optional(),
  ...faultLists(apiFaultSchema),
});

const deliveryFaultRuleSchema = z.strictObject({
  endpointId: z.string().optional(),
  event: z.string().optional(),
  ...faultLists(deliveryFaultSchema),
});

export const faultPlanSchema = z.strictObject({
  api: z.array(apiFaultRuleSchema).max(1_000).optional(),
  deliveries: z.array(deliveryFaultRuleSchema).max(1_000).optional(),
});

/** What can go wrong on a call to the API. */
export type ApiFault = Immutable<z.infer<typeof apiFaultSchema>>;
/** What can go wrong with one attempt of a delivery. */
export type DeliveryFault = Immutable<z.infer<typeof deliveryFaultSchema>>;
export type ApiFaultRule = Immutable<z.infer<typeof apiFaultRuleSchema>>;
export type DeliveryFaultRule = Immutable<z.infer<typeof deliveryFaultRuleSchema>>;
export type FaultPlan = Immutable<z.infer<typeof faultPlanSchema>>;

/** A fault that is injected with a probability, drawn from the mock's seed. */
export interface ProbabilisticFault<Fault> {
  readonly probability: number;
  readonly fault: Fault;
}

/** One fault that was injected. */
export interface FiredFault<Fault = ApiFault | DeliveryFault> {
  readonly sequence: number;
  readonly atMs: number;
  readonly side: "api" | "delivery";
  /** Position of the rule in its list. */
  readonly rule: number;
  readonly fault: Fault;
  /** The operation, or the delivery's id. */
  readonly subject: string;
}
