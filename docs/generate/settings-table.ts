import { defaultOf } from "../../mock-server/codegen/settings-schema-plugin.ts";
import { settingDescriptions } from "../../mock-server/settings/settings-schema.ts";
import { markdownTable } from "../../test/support/documents.ts";

/** Every setting of the mock, from their schema. */
export function settingsTable(): string {
  const rows = settingDescriptions.map(({ name, about }) => [`\`${name}\``, defaultText(name), about]);
  return markdownTable(["setting", "default", "what it is"], rows);
}

function defaultText(name: string): string {
  if (name === "tasks.plans") return "timed, 1000 ms per stage";
  if (name === "seedData") return "one workspace with an administrator";
  const value = defaultOf(name);
  return Array.isArray(value) ? value.join(", ") || "none" : String(value);
}
