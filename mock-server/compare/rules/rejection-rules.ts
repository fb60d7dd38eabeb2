import type { SettingsChanges } from "../../settings.ts";
import { rejectionOf, roleOf } from "./read-response.ts";
import { type Fact, isUnknown, type Rule, type RuleTexts, responseOf, ruleOf } from "./rule.ts";

/**
 * A rule over requests that a key may have no permission for. All of them are then rejected for the same reason, which shows
 * nothing about the rule. @param base the probe that shows the permission
 */
export const withPermission = (base: string, rule: Rule): Rule => ({
  ...rule,
  find(evidence) {
    const response = responseOf(evidence, base);
    if (isUnknown(response) || response.errors?.[0]?.code !== "FORBIDDEN") return rule.find(evidence);
    // With a read-only key beside it, the rule of the base probe itself says that administrators are rejected.
    const isOwn = rule.probes.includes(base) && [...evidence.keys()].some((id) => id.endsWith(".read-only"));
    const role = roleOf(evidence);
    return isOwn && role === "admin" ? rule.find(evidence) : { unknown: forbiddenReason(role) };
  },
});

const forbiddenReason = (role: string | null) =>
  role === null || role === "admin"
    ? "the key may not do this: a read_only key belongs into WORKSPACE_TASKS_READ_ONLY_API_KEY"
    : `the key may not do this: its user has the role ${role}`;

/** A rule that a request is rejected with a certain code and message. */
export const rejection = (id: string, probe: string, title: string, ...assumptions: string[]): Rule =>
  ruleOf(id, probe, { title, assumptions, settings: toErrorSetting }, rejectionOf);

/** The same with other texts, such as settings that express more than code and message. */
export const rejectionWith = (id: string, probe: string, texts: RuleTexts): Rule =>
  ruleOf(id, probe, { settings: toErrorSetting, ...texts }, rejectionOf);

/** The setting that replaces an error of the mock by that of the service, when it is an error and fully known. */
export function toErrorSetting(received: Fact, expected: Fact): SettingsChanges | null {
  if (!isError(received) || !isError(expected)) return null;
  const { code, message } = received;
  if (code === "no code" || code.includes("…") || message === "" || message.includes("…")) return null;
  return { errors: [{ code: expected.code, message: expected.message, replaceWith: { code, message } }] };
}

const isError = (fact: Fact): fact is { readonly code: string; readonly message: string } =>
  typeof fact === "object" && fact !== null && "code" in fact && "message" in fact;
