/*
 * A rule reads one fact from the observations of a run, the same way from those of the service and of the mock:
 *
 *   the service's evidence does not show it     not testable, with what it would take
 *   equal facts                                 confirmed
 *   other facts                                 refuted
 *
 * So a rule has no opinion about what is correct. The mock has, and its own tests prove it against the interface.
 */

import type { SettingsChanges } from "../../settings.ts";
import type { Evidence, ResponseShape } from "../observe/observation.ts";

export type Fact = null | boolean | number | string | readonly Fact[] | { readonly [name: string]: Fact };

/** Why the evidence does not show a fact. */
export interface Unknown {
  readonly unknown: string;
}

export type Finding = { readonly fact: Fact } | Unknown;

export interface Rule {
  /** `<subject>.<name>`, permanent. */
  readonly id: string;
  /** What the mock does, as a sentence. */
  readonly title: string;
  readonly assumptions: readonly string[];
  /** Probes whose responses it reads. */
  readonly probes: readonly string[];
  find(evidence: Evidence): Finding;
  /** Whether the service's fact fits that of the mock. Default: they are equal. */
  readonly agrees?: ((expected: Fact, received: Fact) => boolean) | undefined;
  /** Settings with which the mock shows the service's fact; `null` when no setting can express it. */
  readonly settings?: ((received: Fact, expected: Fact) => SettingsChanges | null) | undefined;
}

export type RuleTexts = Pick<Rule, "title"> & Partial<Pick<Rule, "assumptions" | "agrees" | "settings">>;

export const known = (fact: Fact): Finding => ({ fact });
export const unknown = (reason: string): Finding => ({ unknown: reason });

/** The response of a probe, or why there is none. */
export function responseOf(evidence: Evidence, probe: string): ResponseShape | Unknown {
  const observation = evidence.get(probe);
  if (!observation) return { unknown: "not sent" };
  if (observation.outcome === "response") return observation.response;
  return { unknown: "reason" in observation ? observation.reason : "not a response" };
}

export const isUnknown = (value: object): value is Unknown => "unknown" in value;

/** A rule over the response of one probe. */
export function ruleOf(
  id: string,
  probe: string,
  texts: RuleTexts,
  read: (response: ResponseShape, evidence: Evidence) => Fact | Unknown,
): Rule {
  return {
    assumptions: [],
    ...texts,
    id,
    probes: [probe],
    find(evidence) {
      const response = responseOf(evidence, probe);
      return isUnknown(response) ? response : toFinding(read(response, evidence));
    },
  };
}

/** A rule over the responses of several probes; unknown without one of them. */
export function ruleOver(
  id: string,
  probes: readonly string[],
  texts: RuleTexts,
  read: (responses: readonly ResponseShape[]) => Fact | Unknown,
): Rule {
  return {
    assumptions: [],
    ...texts,
    id,
    probes,
    find(evidence) {
      const responses: ResponseShape[] = [];
      for (const probe of probes) {
        const response = responseOf(evidence, probe);
        if (isUnknown(response)) return response;
        responses.push(response);
      }
      return toFinding(read(responses));
    },
  };
}

export const toFinding = (value: Fact | Unknown): Finding =>
  typeof value === "object" && value !== null && "unknown" in value && typeof value.unknown === "string"
    ? { unknown: value.unknown }
    : { fact: value as Fact };
