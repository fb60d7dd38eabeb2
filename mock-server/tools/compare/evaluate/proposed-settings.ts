import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import type { RuleResult } from "./evaluate-rules.ts";

/** The settings that rules propose, together, on top of those that the mock was compared with. */
export function proposedSettings(rules: readonly RuleResult[], base: SettingsChanges = {}): SettingsChanges {
  return rules.reduce<unknown>(
    (merged, { settings }) => merge(merged, settings ?? {}),
    base,
  ) as SettingsChanges;
}

/** Groups are merged; lists of replaced errors are joined, one for each error; other values are replaced. */
function merge(base: unknown, change: unknown, name = ""): unknown {
  if (name === "errors" && Array.isArray(base) && Array.isArray(change)) {
    const isReplaced = (item: unknown) => change.some((each) => keyOf(each) === keyOf(item));
    return [...base.filter((item) => !isReplaced(item)), ...change];
  }
  if (!isPlainObject(base) || !isPlainObject(change)) return change;
  const names = [...new Set([...Object.keys(base), ...Object.keys(change)])];
  const entries = names.map((each) => [
    each,
    each in change ? merge(base[each], change[each], each) : base[each],
  ]);
  return Object.fromEntries(entries);
}

const keyOf = (item: unknown) => (isPlainObject(item) ? `${item["code"]} ${item["message"]}` : "");
