import type { SettingsChanges } from "@workspace-tasks/mock-server";
import type { ResponseShape } from "../observe/observation.ts";
import type { Draft, Probe } from "./probe.ts";
import { rejectionOf, roleOf } from "./read-response.ts";
import { type About, type Fact, isUnknown, optionsOf, type Rule, responseOf, rule } from "./rule.ts";

/**
 * A rule that a request is rejected with a certain code and message. Without an assumption the message is one of the
 * interface, and its code is A-30.
 */
export const rejected = (id: string, title: string, send: Draft, about: About = []): Rule => {
  const { assumptions, ...options } = optionsOf(about);
  const where = assumptions.length > 0 ? { assumptions } : { assumptions: ["A-30"], keeps: hasMessage };
  return rule(id, title, send, { settings: toErrorSetting, ...where, ...options }, rejectionOf);
};

type Rows = readonly (readonly [id: string, title: string, send: Draft, ...assumptions: readonly string[]])[];

/** Rules that requests are rejected: id, title, what is sent, assumptions. */
export const rejections = (rows: Rows): readonly Rule[] =>
  rows.map(([id, title, send, ...assumptions]) => rejected(id, title, send, assumptions));

/** Rejections of which the interface promises a part, beside assumptions. */
export const rejectionsKeeping = (keeps: Rule["keeps"], rows: Rows): readonly Rule[] =>
  rejections(rows).map((each) => ({ ...each, keeps }));

/** The interface says that there is an error. */
export const isRejected = (_: Fact, received: Fact): boolean => isError(received);

/** The interface says that the request is not carried out. */
export const isNotAccepted = (_: Fact, received: Fact): boolean => received !== "accepted";

/** The interface says the message, and not the code. */
export const hasMessage = (expected: Fact, received: Fact): boolean =>
  isError(expected) && isError(received) && expected.message === received.message;

/** A rejection whose message names the greatest value, which is a setting. */
export const rejectedAbove = (
  id: string,
  title: string,
  send: Draft,
  toSetting: (max: number) => SettingsChanges,
  assumptions: readonly string[] = [],
): Rule =>
  rejected(id, title, send, {
    assumptions,
    settings(received, expected) {
      const max = limitIn(received);
      const isOther = max !== null && max !== limitIn(expected);
      return isOther ? toSetting(max) : toErrorSetting(received, expected);
    },
  });

const limitIn = (fact: Fact): number | null => {
  const [, limit] = (isError(fact) && /between \d+ and (\d+)/.exec(fact.message)) || [];
  return limit === undefined ? null : Number(limit);
};

/**
 * A rule over requests that a key may have no permission for. All of them are then rejected for the same reason, which shows
 * nothing about the rule. @param base the probe that shows the permission
 */
export const withPermission = (base: Probe, of: Rule): Rule => ({
  ...of,
  expect(seen) {
    const response = responseOf(seen, base);
    if (isUnknown(response) || !isForbidden(response)) return of.expect(seen);
    // With a read-only key beside it, the rule of the base probe itself says that administrators are rejected.
    const isOwn =
      of.send.some(({ id }) => id === base.id) && [...seen.keys()].some((id) => id.endsWith("read-only"));
    const role = roleOf(seen);
    return isOwn && role === "admin" ? of.expect(seen) : { unknown: forbiddenReason(role) };
  },
});

/** The interface says one or the other, by the operation. */
const isForbidden = ({ errors: [error] = [] }: ResponseShape) =>
  error?.code === "FORBIDDEN" || error?.message === "Unauthorized";

const forbiddenReason = (role: string | null) =>
  role === null || role === "admin"
    ? "the key may not do this: a read_only key belongs into WORKSPACE_TASKS_READ_ONLY_API_KEY"
    : `the key may not do this: its user has the role ${role}`;

/** The setting that replaces an error of the mock by that of the service, when it is an error and fully known. */
export function toErrorSetting(received: Fact, expected: Fact): SettingsChanges | null {
  if (!isError(received) || !isError(expected)) return null;
  const { code, message } = received;
  if (code === "no code" || code.includes("…") || message === "" || message.includes("…")) return null;
  return { errors: [{ code: expected.code, message: expected.message, replaceWith: { code, message } }] };
}

const isError = (fact: Fact): fact is { readonly code: string; readonly message: string } =>
  typeof fact === "object" && fact !== null && "code" in fact && "message" in fact;
