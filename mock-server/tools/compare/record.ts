// A record has one JSON document per line: a header, then each observation as it was made, so that an interrupted run
// leaves a usable record.

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import * as z from "zod";
import type { Plan } from "./catalogue/catalogue.ts";
import { type Observation, observationSchema } from "./observe/observation.ts";
import { keyNames, permissions } from "./rules/probe.ts";

export const recordTool = "workspace-tasks compare";

const formatVersion = 1;

const headerSchema = z.object({
  tool: z.literal(recordTool),
  formatVersion: z.literal(formatVersion),
  permissions: z.array(z.enum(permissions)),
  keys: z.array(z.enum(keyNames)),
  hasGateway: z.boolean(),
});

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
  if (!header)
    throw new Error(
      `line 1 is not the header of a record of ${recordTool} with formatVersion ${formatVersion}`,
    );
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

const parseLine = <Output>(schema: z.ZodType<Output>, line: string): Output | null =>
  schema.safeParse(jsonOrUndefined(line)).data ?? null;
