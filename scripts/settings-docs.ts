// The settings in docs/mock-limits.md and in mock-settings.schema.json, made from their one schema.

import { z } from "zod";
import { defaultSettings } from "../mock-server/settings/settings.ts";
import { settingDescriptions, settingsSchema } from "../mock-server/settings/settings-schema.ts";

export const settingsDocument = "docs/mock-limits.md";
export const settingsSchemaFile = "mock-server/mock-settings.schema.json";

/** The document with the table of the settings replaced by the one of the schema. */
export function withSettingsTable(document: string): string {
  const [begin, end] = ["<!-- settings:begin -->", "<!-- settings:end -->"];
  const before = document.slice(0, document.indexOf(begin) + begin.length);
  const rows = settingDescriptions.map(
    ({ name, about }) => `| \`${name}\` | ${defaultText(name)} | ${about} |\n`,
  );
  const header = "| setting | default | what it is |\n|---|---|---|\n";
  return `${before}\n${header}${rows.join("")}${document.slice(document.indexOf(end))}`;
}

function defaultText(name: string): string {
  if (name === "tasks.plans") return "timed, 1000 ms per stage";
  if (name === "seedData") return "one workspace with an administrator";
  const value = defaultOf(name);
  return Array.isArray(value) ? value.join(", ") || "none" : String(value);
}

const defaultOf = (name: string): unknown =>
  name
    .split(".")
    .reduce<unknown>((value, field) => (value as Record<string, unknown>)[field], defaultSettings);

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  default?: unknown;
  [field: string]: unknown;
}

/** The JSON Schema that editors use for settings files. */
export function settingsJsonSchema(): string {
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
