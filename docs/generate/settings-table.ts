// The settings in docs/mock-limits.md, made from their schema.
import { defaultOf } from "../../mock-server/codegen/settings-schema-plugin.ts";
import { settingDescriptions } from "../../mock-server/settings/settings-schema.ts";

export const settingsDocument = "docs/mock-limits.md";

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
