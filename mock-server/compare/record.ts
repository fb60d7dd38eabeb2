// A record has one JSON document per line: a header, then each observation as it was made, so that an interrupted run
// leaves a usable record.

import { z } from "zod";
import { isPlainObject } from "../checks/plain-object.ts";
import type { Plan } from "./catalogue/catalogue.ts";
import { keyNames, permissions } from "./catalogue/probe.ts";
import type { Observation, Shape } from "./observe/observation.ts";

export const recordTool = "workspace-tasks compare";

const formatVersion = 1;

const headerSchema = z.object({
  tool: z.literal(recordTool),
  formatVersion: z.literal(formatVersion),
  permissions: z.array(z.enum(permissions)),
  keys: z.array(z.enum(keyNames)),
  hasGateway: z.boolean(),
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
      contentType: text,
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

export interface ComparisonRecord {
  readonly plan: Plan;
  readonly observations: readonly Observation[];
}

export const headerLine = ({ permissions, keys, hasGateway }: Plan): string =>
  `${JSON.stringify({ tool: recordTool, formatVersion, permissions: [...permissions], keys: [...keys], hasGateway })}\n`;

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
  const { permissions, keys, hasGateway } = header;
  return { plan: { permissions: new Set(permissions), keys: new Set(keys), hasGateway }, observations };
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
