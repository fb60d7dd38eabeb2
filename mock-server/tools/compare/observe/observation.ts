// What is known of a response afterwards: types, codes, lengths and relations, and no text that the service stores. A
// record of a run consists of these, and every rule reads nothing else, so a record can be evaluated again elsewhere.

import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Immutable } from "@workspace-tasks/mock-server/parts";
import * as z from "zod";

// A record may come from elsewhere: its texts are printed, and must not control a terminal.
const text = z
  .string()
  .max(2_000)
  .regex(/^(?:\P{Cc}|[\t\n])*$/u);

/** A redacted value: text is replaced by a tag that says what kind of text it was, see `redact-data.ts`. */
export type Shape = null | boolean | string | readonly Shape[] | { readonly [key: string]: Shape };

export type Fields = Readonly<Record<string, Shape>>;

/** The fields of an object; none of another value. */
export const fieldsOf = (value: Shape | undefined): Fields => (isPlainObject(value) ? (value as Fields) : {});

const shapeSchema: z.ZodType<Shape> = z.lazy(() =>
  z.union([z.null(), z.boolean(), text, z.array(shapeSchema), z.record(text, shapeSchema)]),
);

const errorSchema = z.object({
  /** Words that are no technical vocabulary are replaced by `…`. */
  message: text,
  code: text.nullable(),
  path: z.array(z.union([text, z.number()])).nullable(),
  /** The message proposes names: "Did you mean …". */
  suggests: z.boolean(),
  /** A stack trace or a path of a file is part of the error. */
  leaks: z.boolean(),
});

const responseSchema = z.object({
  status: z.int(),
  /** Without parameters; `none` when it has no usual form. */
  contentType: text,
  body: z.enum(["graphql", "json", "html", "text", "empty"]),
  data: shapeSchema.optional(),
  errors: z.array(errorSchema).optional(),
});

/** One attempt of a delivery, without what it says about a client. */
const deliverySchema = z.object({
  /** Milliseconds since the first attempt. */
  atMs: z.number(),
  /** Names of `webhook-…` headers. */
  headers: z.array(text),
  contentType: text,
  /** Numbers by which equal ids and bodies are equal. */
  id: z.int(),
  body: z.int(),
  /** `seconds`, or another form. */
  timestamp: text,
  /** Seconds between the signed time and the arrival. */
  ageSeconds: z.number(),
  /** Version of each signature, and which of the secrets it verifies with: 0 is the newest, `null` none. */
  signatures: z.array(z.object({ version: text, secret: z.int().nullable() })),
  /** HTTP status of the response to it; `null` when it is not known. */
  responded: z.int().nullable(),
  payload: shapeSchema,
});

const common = {
  probe: text,
  /** Milliseconds since the start of the run. */
  atMs: z.number(),
};

export const observationSchema = z.discriminatedUnion("outcome", [
  z.object({
    ...common,
    outcome: z.literal("response"),
    durationMs: z.number(),
    response: responseSchema,
  }),
  /** The service could not be reached, or did not respond as a service, after all attempts. */
  z.object({ ...common, outcome: z.literal("failed"), reason: text }),
  /** Nothing was sent. */
  z.object({ ...common, outcome: z.literal("skipped"), reason: text }),
  /** What several requests have shown together. */
  z.object({
    ...common,
    outcome: z.literal("measured"),
    facts: z.record(text, z.union([text, z.number(), z.boolean(), z.null()])),
  }),
  /** Deliveries that a receiver has captured. */
  z.object({ ...common, outcome: z.literal("deliveries"), deliveries: z.array(deliverySchema) }),
]);

export type Observation = Immutable<z.output<typeof observationSchema>>;
export type Responded = Extract<Observation, { outcome: "response" }>;
export type Facts = Extract<Observation, { outcome: "measured" }>["facts"];
export type ResponseShape = Responded["response"];
export type ErrorShape = Immutable<z.output<typeof errorSchema>>;
export type DeliveryShape = Immutable<z.output<typeof deliverySchema>>;

/** Observations that are no response of a probe. */
export const deliveriesProbe = "deliveries.captured";
export const rateLimitProbe = "rate-limit.measured";

/** The newest observation of each probe. */
export type Evidence = ReadonlyMap<string, Observation>;

export const toEvidence = (observations: readonly Observation[]): Evidence =>
  new Map(observations.map((observation) => [observation.probe, observation]));
