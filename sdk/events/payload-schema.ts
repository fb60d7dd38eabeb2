import * as z from "zod";
import type { KnownEventName } from "./catalog.ts";
import { eventSchemas } from "./webhook-event.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The payload of an event as JSON Schema Draft 7, as the service sends it: every field is required, also those that
 * `parseEvent` can do without. The mock's event catalog returns it as `payloadSchema`.
 *
 * @see interface §6, "The full JSON Schema of each event"
 */
export function payloadJsonSchema(name: KnownEventName): JsonSchema {
  const schema = z.toJSONSchema(eventSchemas[name], {
    target: "draft-7",
    io: "output",
    override({ jsonSchema }) {
      if (jsonSchema.properties) jsonSchema.required = Object.keys(jsonSchema.properties);
      // A reader's value for a field that is absent.
      delete jsonSchema.default;
    },
  });
  return { title: name, ...schema };
}
