/*
 * A rule sends requests and reads one fact from their responses, the same way from those of the service and of the mock:
 *
 *   the service's evidence does not show it          not testable, with what it would take
 *   equal facts                                      confirmed
 *   other facts, which keep what the interface says  differs, from the assumptions that fill in the rest
 *   other facts                                      refuted
 *
 * So a rule does not know what is correct. The mock does, and its own tests prove it against the interface. A rule knows which
 * part of its fact the interface promises.
 */

import { isDeepStrictEqual } from "node:util";
import type { SettingsChanges } from "@workspace-tasks/mock-server";
import type { Evidence, ResponseShape } from "../observe/observation.ts";
import type { Draft, Probe } from "./probe.ts";

export type Fact = null | boolean | number | string | readonly Fact[] | { readonly [name: string]: Fact };

/** Why the evidence does not show a fact. */
export interface Unknown {
  readonly unknown: string;
}

export interface Rule {
  /** `<subject>.<name>`, permanent. */
  readonly id: string;
  /** What the mock does, as a sentence. */
  readonly title: string;
  /** Where the interface leaves the fact, or a part of it, open. */
  readonly assumptions: readonly string[];
  /** What it sends. Rules may share a probe, which is sent once. */
  readonly send: readonly Probe[];
  /** For a rule that sends nothing of its own: what shows it. */
  readonly source?: string | undefined;
  /** The fact that service and mock are expected to have in common. */
  expect(seen: Evidence): Fact | Unknown;
  /** Whether the service's fact fits that of the mock. Default: they are equal. */
  readonly agrees?: ((expected: Fact, received: Fact) => boolean) | undefined;
  /**
   * Whether another fact keeps what the interface promises. Default: never without assumptions, always with them, which then
   * are the only source of the fact.
   */
  readonly keeps?: ((expected: Fact, received: Fact) => boolean) | undefined;
  /** Settings with which the mock shows the service's fact; `null` when no setting can express it. */
  readonly settings?: ((received: Fact, expected: Fact) => SettingsChanges | null) | undefined;
}

/** Where the interface leaves the fact open: ids of assumptions, or more about it. Empty: nowhere. */
export type About = readonly string[] | Partial<Pick<Rule, "assumptions" | "agrees" | "keeps" | "settings">>;

const isList = (about: About): about is readonly string[] => Array.isArray(about);

export const optionsOf = (about: About): Exclude<About, readonly string[]> & Pick<Rule, "assumptions"> =>
  isList(about) ? { assumptions: about } : { assumptions: [], ...about };

export const isUnknown = (value: unknown): value is Unknown =>
  typeof value === "object" && value !== null && "unknown" in value && typeof value.unknown === "string";

/** The response of a probe, or why there is none. */
export function responseOf(seen: Evidence, { id }: Probe): ResponseShape | Unknown {
  const observation = seen.get(id);
  if (!observation) return { unknown: "not sent" };
  if (observation.outcome === "response") return observation.response;
  return { unknown: "reason" in observation ? observation.reason : "not a response" };
}

/** The interface promises these parts of a fact. */
export const sameOf =
  (...names: readonly string[]) =>
  (expected: Fact, received: Fact): boolean => {
    const [wanted, found] = [expected, received] as readonly Readonly<Record<string, Fact>>[];
    return names.every((name) => isDeepStrictEqual(wanted?.[name], found?.[name]));
  };

/** The interface promises each of a list, and perhaps more. */
export const hasEach = (expected: Fact, received: Fact): boolean =>
  Array.isArray(expected) &&
  Array.isArray(received) &&
  expected.every((each: Fact) => received.includes(each));

type Read<Seen> = (seen: Seen, evidence: Evidence) => Fact | Unknown;

/** A rule over one response. */
export const rule = (
  id: string,
  title: string,
  send: Draft,
  about: About,
  expect: Read<ResponseShape>,
): Rule => ruleOver(id, title, { only: { id, ...send } }, about, ({ only }, seen) => expect(only, seen));

/** A rule over several responses; unknown without one of them. */
export function ruleOver<Name extends string>(
  id: string,
  title: string,
  drafts: Readonly<Record<Name, Draft>>,
  about: About,
  expect: Read<Readonly<Record<Name, ResponseShape>>>,
): Rule {
  const probes = Object.entries<Draft>(drafts).map(
    ([name, draft]) => [name, { id: `${id}.${name}`, ...draft }] as const,
  );
  return {
    ...optionsOf(about),
    id,
    title,
    send: probes.map(([, probe]) => probe),
    expect(seen) {
      const responses = probes.map(([name, probe]) => [name, responseOf(seen, probe)] as const);
      const missing = responses.map(([, response]) => response).find(isUnknown);
      if (missing) return missing;
      return expect(Object.fromEntries(responses) as Record<Name, ResponseShape>, seen);
    },
  };
}

/** A rule over what other rules send, or over no request at all. */
export const ruleAcross = (
  id: string,
  title: string,
  source: string | undefined,
  about: About,
  expect: (seen: Evidence) => Fact | Unknown,
): Rule => ({
  ...optionsOf(about),
  id,
  title,
  source,
  send: [],
  expect,
});
