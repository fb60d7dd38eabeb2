import * as z from "zod";
import { catalogTaskTypes, events, type KnownEventName, requireEventName } from "./catalog.ts";
import { absentFields } from "./event-fields.ts";
import { eventSchemas } from "./webhook-event.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The payload of an event as JSON Schema Draft 7, as the service sends it: every field is required, also those that
 * `parseEvent` can do without, and has the values of the interface alone. The mock's event catalog returns it as
 * `payloadSchema`.
 *
 * @param taskTypes those of the catalog
 * @see interface §6, "The full JSON Schema of each event"
 */
export function payloadJsonSchema(
  name: KnownEventName,
  taskTypes: readonly string[] = catalogTaskTypes,
): JsonSchema {
  requireEventName("payloadJsonSchema", name);
  const schema = z.toJSONSchema(eventSchemas[name], {
    target: "draft-7",
    io: "output",
    override({ jsonSchema, path }) {
      if (jsonSchema.properties) jsonSchema.required = Object.keys(jsonSchema.properties);
      // A reader's value for a field that is absent.
      delete jsonSchema.default;
      if (path.at(-1) === "taskType") jsonSchema.enum = [...taskTypes];
    },
  });
  return { title: name, ...schema, ...whatPropertiesCannotSay(name) };
}

function whatPropertiesCannotSay(name: KnownEventName): JsonSchema {
  const absent = absentFields[events[name].kind];
  return {
    ...(absent.length > 0 && { propertyNames: { not: { enum: absent } } }),
    ...(name === "task.completed" && {
      if: { properties: { taskType: { const: "TAX_PREP" } } },
      else: { properties: { taxPrepResult: { type: "null" } } },
    }),
  };
}
