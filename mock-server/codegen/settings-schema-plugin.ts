// A code generator plugin: the JSON Schema that editors use for settings files.
import * as z from "zod";
import { defaultSettings } from "../settings/settings.ts";
import { settingDescriptions, settingsSchema } from "../settings/settings-schema.ts";

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  default?: unknown;
  [field: string]: unknown;
}

export function plugin(): string {
  const { $schema, ...schema } = z.toJSONSchema(settingsSchema, {
    target: "draft-7",
    io: "input",
    unrepresentable: "any",
  }) as JsonSchema;
  for (const { name } of settingDescriptions) {
    const property = name
      .split(".")
      .reduce<JsonSchema | undefined>((inner, field) => inner?.properties?.[field], schema);
    if (property) property.default = defaultOf(name);
  }
  const document = {
    $schema,
    title: "Settings of the workspace-tasks mock",
    ...schema,
    properties: { $schema: { type: "string" }, ...schema.properties },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** @param name of a setting, with a point between its fields */
export const defaultOf = (name: string): unknown =>
  name
    .split(".")
    .reduce<unknown>((value, field) => (value as Record<string, unknown>)[field], defaultSettings);
