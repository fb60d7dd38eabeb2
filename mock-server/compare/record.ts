// A record has one JSON document per line: a header, then each observation as it was made, so that an interrupted run
// leaves a usable record. A later observation of the same probe replaces an earlier one.

import { z } from "zod";
import type { Observation, Shape } from "./observe/observation.ts";
import { keyNames, type Permission } from "./plan/probe.ts";

export const recordTool = "workspace-tasks compare";

const permissions = ["read", "write"] as const satisfies readonly Permission[];

const headerSchema = z.object({
  tool: z.literal(recordTool),
  formatVersion: z.literal(1),
  permissions: z.array(z.enum(permissions)),
  keys: z.array(z.enum(keyNames)),
  hasGateway: z.boolean(),
  /** Names the objects of the run, so that what an interrupted run created can be found. */
  runId: z.string().regex(/^[a-z0-9]{1,32}$/),
});

const shapeSchema: z.ZodType<Shape> = z.json() as z.ZodType as z.ZodType<Shape>;

const errorSchema = z.object({
  message: z.string(),
  code: z.string().nullable(),
  path: z.array(z.union([z.string(), z.number()])).nullable(),
  suggests: z.boolean(),
  leaks: z.boolean(),
});

const common = { probe: z.string(), atMs: z.number() };

const observationSchema = z.discriminatedUnion("outcome", [
  z.object({
    ...common,
    outcome: z.literal("response"),
    durationMs: z.number(),
    response: z.object({
      status: z.int(),
      headers: z.record(z.string(), z.string()),
      body: z.enum(["graphql", "json", "html", "text", "empty"]),
      data: shapeSchema.optional(),
      errors: z.array(errorSchema).optional(),
    }),
  }),
  z.object({ ...common, outcome: z.literal("failed"), reason: z.string() }),
  z.object({ ...common, outcome: z.literal("skipped"), reason: z.string() }),
  z.object({
    ...common,
    outcome: z.literal("deliveries"),
    deliveries: z.array(
      z.object({
        atMs: z.number(),
        headers: z.array(z.string()),
        contentType: z.string(),
        id: z.int(),
        body: z.int(),
        timestamp: z.string(),
        ageSeconds: z.number(),
        signatures: z.array(z.object({ version: z.string(), secret: z.int().nullable() })),
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
  `${JSON.stringify({ tool: recordTool, formatVersion: 1, ...header })}\n`;

export const observationLine = (observation: Observation): string => `${JSON.stringify(observation)}\n`;

/**
 * Reads a record. A last line that was cut off by the end of its process is left out.
 * @throws Error that says which line is wrong
 */
export function parseRecord(text: string): ComparisonRecord {
  const [first = "", ...rest] = text.split("\n");
  const header = parseLine(headerSchema, first);
  if (!header) throw new Error("line 1 is not the header of a record of workspace-tasks compare");
  const isCutOff = rest.at(-1) !== "";
  const lines = (isCutOff ? rest.slice(0, -1) : rest).filter((line) => line !== "");
  const observations = lines.map((line, index) => {
    const observation = parseLine(observationSchema, line);
    if (!observation) throw new Error(`line ${index + 2} is not an observation`);
    return observation;
  });
  return { header, observations };
}

function parseLine<Output>(schema: z.ZodType<Output>, line: string): Output | null {
  try {
    return schema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
