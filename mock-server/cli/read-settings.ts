import { readFile } from "node:fs/promises";
import { CommandError, UsageError } from "@workspace-tasks/kernel/cli/command-line.ts";
import { jsonOrUndefined, parseJsonText } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isMockServerError } from "../errors.ts";
import type { SettingsChanges } from "../settings/settings.ts";

interface SettingsSources {
  /** Path of a JSON file. */
  readonly settings: string | undefined;
  /** `<name>=<value>`; each counts more than the file and than those before it. */
  readonly set: readonly string[];
}

/** The settings of the flags `--settings` and `--set`, checked; `undefined` without both. */
export async function readSettings({ settings, set }: SettingsSources): Promise<SettingsChanges | undefined> {
  if (settings === undefined && set.length === 0) return undefined;
  // Loaded when first needed, with zod.
  const { issuesOfSettings } = await import("../settings/settings-schema.ts");
  const { withSettings } = await import("../settings/settings.ts");
  let changes: Record<string, unknown> = {};
  if (settings !== undefined) {
    changes = await readSettingsFile(settings);
    const [issue] = issuesOfSettings(changes);
    if (issue) throw new CommandError(`--settings: ${settings}: ${withPlace(issue)}`);
  }
  for (const assignment of set) {
    const change = parseAssignment(assignment);
    const [issue] = issuesOfSettings(change);
    const isList = issue?.message.startsWith("expected an array");
    const hint = isList ? '; write it as JSON, such as ["a"] or [5000]' : "";
    if (issue) throw new UsageError(`--set ${assignment}: ${withPlace(issue)}${hint}`);
    changes = withSettings(change, changes as never) as unknown as Record<string, unknown>;
  }
  return changes as SettingsChanges;
}

const withPlace = ({ path, message }: { readonly path: string; readonly message: string }) =>
  path === "" ? message : `${path}: ${message}`;

async function readSettingsFile(path: string): Promise<Record<string, unknown>> {
  const text = await orFail(`--settings: cannot read ${path}`, () => readFile(path, "utf8"));
  const value = await orFail(`--settings: ${path} is not JSON`, () => parseJsonText(text));
  if (!isPlainObject(value)) throw new CommandError(`--settings: ${path}: expected a JSON object`);
  // Editors find the schema by this field.
  const { $schema: _, ...changes } = value;
  return changes;
}

function parseAssignment(assignment: string): SettingsChanges {
  const [, name = "", value] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
  if (value === undefined) {
    const got = JSON.stringify(assignment);
    throw new UsageError(`--set: expected <name>=<value> such as rateLimit.requests=5, got ${got}`);
  }
  return name
    .split(".")
    .toReversed()
    .reduce<unknown>((inner, field) => ({ [field]: inner }), parseValue(value)) as SettingsChanges;
}

/** JSON, a list of numbers such as `0,1000,2000`, or text. */
function parseValue(text: string): unknown {
  const list = /^-?\d+(,-?\d+)+$/.test(text) ? `[${text}]` : text;
  const value = jsonOrUndefined(list);
  return value === undefined ? text : value;
}

/** Why something failed: the system's code such as ENOENT, or the message. */
export function reasonOf(error: unknown): string {
  if (!isError(error)) return String(error);
  return "code" in error && !isMockServerError(error) ? String(error.code) : error.message;
}

/** @throws CommandError that says what could not be done, why, and what to do */
export async function orFail<Result>(what: string, work: () => Result | Promise<Result>, remedy = "") {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(`${what}: ${reasonOf(error)}${remedy}`);
  }
}
