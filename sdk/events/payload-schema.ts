import { z } from "zod";
import { eventSchemas, type KnownEventName } from "./webhook-event.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The payload of an event as JSON Schema Draft 7, derived from its zod schema. The mock's event catalog returns it as
 * `payloadSchema`.
 *
 * @see interface §6, "The full JSON Schema of each event"
 */
export function payloadJsonSchema(name: KnownEventName): JsonSchema {
  return { title: name, ...z.toJSONSchema(eventSchemas[name], { target: "draft-7", io: "input" }) };
}
