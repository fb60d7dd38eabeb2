import { z } from "zod";
import { eventSchemas, type KnownEventName } from "./webhook-event.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * The payload of an event as JSON Schema Draft 7, derived from its zod schema, so that the two cannot
 * drift. This is what `payloadSchema` of the mock's event catalog holds.
 *
 * @see interface §6, "The full JSON Schema of each event"
 */
export function payloadJsonSchema(name: KnownEventName): JsonSchema {
  return { title: name, ...z.toJSONSchema(eventSchemas[name], { target: "draft-7", io: "input" }) };
}
