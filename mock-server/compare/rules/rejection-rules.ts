import type { SettingsChanges } from "../../settings.ts";
import { rejectionOf } from "./read-response.ts";
import { type Fact, type Rule, type RuleTexts, ruleOf } from "./rule.ts";

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
  if (code === "no code" || code === "…" || message === "" || message.includes("…")) return null;
  return { errors: [{ code: expected.code, message: expected.message, replaceWith: { code, message } }] };
}

const isError = (fact: Fact): fact is { readonly code: string; readonly message: string } =>
  typeof fact === "object" && fact !== null && "code" in fact && "message" in fact;
