// A record has one JSON document per line: a header, then each observation as it was made, so that an interrupted run
// leaves a usable record. A later observation of the same probe replaces an earlier one.

import { createHash } from "node:crypto";
import { z } from "zod";
import { isPlainObject } from "../plain-object.ts";
import type { Observation, Shape } from "./observe/observation.ts";
import type { PlanInput } from "./plan/plan-probes.ts";
import { keyNames, permissions } from "./plan/probe.ts";

export const recordTool = "workspace-tasks compare";

const formatVersion = 1;

const headerSchema = z.object({
  tool: z.literal(recordTool),
  formatVersion: z.literal(formatVersion),
  permissions: z.array(z.enum(permissions)),
  keys: z.array(z.enum(keyNames)),
  hasGateway: z.boolean(),
  /** Names the objects of the run, so that what an interrupted run created can be found. */
  runId: z.string().regex(/^[a-z0-9]{1,32}$/),
  /** Digest of the addresses, so that a run is not continued at another service; `null` without a service. */
  service: z
    .string()
    .regex(/^[a-f0-9]{16}$/)
    .nullable(),
});

// A record may come from elsewhere: its texts are printed, and must not control a terminal.
const text = z
  .string()
  .max(2_000)
  .regex(/^(?:\P{Cc}|[\t\n])*$/u);

const shapeSchema: z.ZodType<Shape> = z.lazy(() =>
  z.union([z.null(), z.boolean(), text, z.array(shapeSchema), z.record(text, shapeSchema)]),
);

const errorSchema = z.object({
  message: text,
  code: text.nullable(),
  path: z.array(z.union([text, z.number()])).nullable(),
  suggests: z.boolean(),
  leaks: z.boolean(),
});

const common = { probe: text, atMs: z.number() };

const observationSchema = z.discriminatedUnion("outcome", [
  z.object({
    ...common,
    outcome: z.literal("response"),
    durationMs: z.number(),
    response: z.object({
      status: z.int(),
      headers: z.record(text, text),
      body: z.enum(["graphql", "json", "html", "text", "empty"]),
      data: shapeSchema.optional(),
      errors: z.array(errorSchema).optional(),
    }),
  }),
  z.object({ ...common, outcome: z.literal("failed"), reason: text }),
  z.object({ ...common, outcome: z.literal("skipped"), reason: text }),
  z.object({
    ...common,
    outcome: z.literal("measured"),
    facts: z.record(text, z.union([text, z.number(), z.boolean(), z.null()])),
  }),
  z.object({
    ...common,
    outcome: z.literal("deliveries"),
    deliveries: z.array(
      z.object({
        atMs: z.number(),
        headers: z.array(text),
        contentType: text,
        id: z.int(),
        body: z.int(),
        timestamp: text,
        ageSeconds: z.number(),
        signatures: z.array(z.object({ version: text, secret: z.int().nullable() })),
        responded: z.int().nullable(),
        payload: shapeSchema,
      }),
    ),
  }),
]);

null as unknown as z.output<typeof observationSchema> satisfies Observation;

export type RecordHeader = z.output<typeof headerSchema>;

export interface ComparisonRecord {
  readonly header: RecordHeader;
  readonly observations: readonly Observation[];
}

export const headerLine = (header: Omit<RecordHeader, "tool" | "formatVersion">): string =>
  `${JSON.stringify({ tool: recordTool, formatVersion, ...header })}\n`;

export const planOf = ({ permissions, keys, hasGateway }: RecordHeader): PlanInput => ({
  permissions: new Set(permissions),
  keys: new Set(keys),
  hasGateway,
});

/** What two runs of one record could send together. */
export const joinPlans = (a: PlanInput, b: PlanInput): PlanInput => ({
  permissions: new Set([...a.permissions, ...b.permissions]),
  keys: new Set([...a.keys, ...b.keys]),
  hasGateway: a.hasGateway || b.hasGateway,
});

export const digestOfService = (baseUrl: string, gatewayUrl: string | null): string =>
  createHash("sha256")
    .update(JSON.stringify([baseUrl, gatewayUrl]))
    .digest("hex")
    .slice(0, 16);

export const observationLine = (observation: Observation): string => `${JSON.stringify(observation)}\n`;

/**
 * Reads a record. A last line that was cut off by the end of its process is left out.
 * @throws Error that says which line is wrong
 */
export function parseRecord(text: string): ComparisonRecord {
  const [first = "", ...rest] = text.split("\n");
  const header = parseLine(headerSchema, first);
  if (!header) throw new Error(`line 1 is not the header of a record of ${recordTool}${versionHint(first)}`);
  const isCutOff = rest.at(-1) !== "";
  const lines = (isCutOff ? rest.slice(0, -1) : rest).filter((line) => line !== "");
  const observations = lines.map((line, index) => {
    const observation = parseLine(observationSchema, line);
    if (!observation) throw new Error(`line ${index + 2} is not an observation`);
    return observation;
  });
  return { header, observations };
}

/** Another version of this package may write another format. */
function versionHint(line: string): string {
  try {
    const value: unknown = JSON.parse(line);
    if (!isPlainObject(value) || value["tool"] !== recordTool || value["formatVersion"] === formatVersion)
      return "";
    return `: expected formatVersion ${formatVersion}, got ${Number(value["formatVersion"])}`;
  } catch {
    return "";
  }
}

function parseLine<Output>(schema: z.ZodType<Output>, line: string): Output | null {
  try {
    return schema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
