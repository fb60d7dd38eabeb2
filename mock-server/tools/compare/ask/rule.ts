/*
 * A rule asks a service something and reads one fact. Conformance asks the mock and expects what the table says; `compare` asks
 * a service:
 *
 *   the service does not show it                     not testable, with what it would take
 *   the expected fact                                confirmed
 *   another, which keeps what the interface says     differs, from the assumptions that fill in the rest
 *   another                                          refuted
 */

import { isDeepStrictEqual } from "node:util";
import type { Settings, SettingsChanges } from "@workspace-tasks/mock-server";
import { defaultSettings } from "@workspace-tasks/mock-server/parts";
import { Untestable } from "./send.ts";
import type { Service, ServiceResponse } from "./service.ts";

/** What is kept of a run: no response, no key, and no text that a client has written. */
export type Fact = null | boolean | number | string | readonly Fact[] | { readonly [name: string]: Fact };

export interface Rule {
  /** `<subject>.<name>`, permanent: records refer to it. */
  readonly id: string;
  /** What the mock does, as a sentence. */
  readonly says: string;
  /** The rule of the interface, and the assumptions that fill in what it leaves open. */
  readonly from: readonly string[];
  /** `writes`: it creates, changes or validates something. `deliveries`: it reads captured deliveries. */
  readonly needs?: "writes" | "deliveries";
  /** @throws Untestable when the service does not show it */
  ask(service: Service): Promise<Fact> | Fact;
  /** What the interface or an assumption says; of deliveries by the settings of the mock. */
  readonly expected: Fact | ((settings: Settings) => Fact);
  /** Whether a fact fits the expected one. Default: they are equal. */
  readonly agrees?: ((expected: Fact, found: Fact) => boolean) | undefined;
  /** Whether another fact keeps what the interface promises. Default: with an assumption always, else never. */
  readonly keeps?: ((expected: Fact, found: Fact) => boolean) | undefined;
  /** Settings with which the mock shows the fact; `null` when no setting can. */
  readonly setting?: ((found: Fact, expected: Fact) => SettingsChanges | null) | undefined;
}

export type Options = Partial<Pick<Rule, "agrees" | "keeps" | "setting" | "needs">>;

export const assumptionsOf = ({ from }: Rule): readonly string[] =>
  from.filter((source) => source.startsWith("A-"));

export const expectedOf = ({ expected }: Rule, settings: Settings = defaultSettings): Fact =>
  typeof expected === "function" ? expected(settings) : expected;

export const agrees = (rule: Rule, expected: Fact, found: Fact): boolean =>
  (rule.agrees ?? isDeepStrictEqual)(expected, found);

/** A rule. @param title sources, id and sentence, as `W11 endpoints.list: an administrator lists endpoints` */
export function rule(
  title: string,
  expected: Rule["expected"],
  ask: Rule["ask"],
  options: Options = {},
): Rule {
  const [, from = "", id = "", says = ""] = /^((?:[A-Z]-?\d+ )+)(\S+): (.*)$/.exec(title) ?? [];
  return { id, says, from: from.trim().split(" "), expected, ask, ...options };
}

export type Ask = (service: Service) => Promise<ServiceResponse>;
type RejectionRow = readonly [title: string, expected: Rejection, ask: Ask, options?: Options];

/** Rules that a request is rejected, which their titles leave out. With A-30 the interface says the message, and not the code. */
export const rejections = (rows: readonly RejectionRow[], common: Options = {}): readonly Rule[] =>
  rows.map(([title, expected, ask, options]) => {
    const keeps = title.includes("A-30 ") ? hasMessage : undefined;
    const read = async (service: Service) => rejectionOf(await ask(service));
    return rule(`${title} is rejected`, expected, read, {
      setting: toErrorSetting,
      keeps,
      ...common,
      ...options,
    });
  });

/** How a rejection is read. */
export function rejectionOf(response: ServiceResponse): Fact {
  const [error] = response.errors;
  if (error) return { code: error.code ?? "no code", message: error.message };
  if (response.body !== "graphql") return { status: response.status, body: response.body };
  const { data } = response;
  const isNull = data == null || Object.values(data).every((value) => value === null);
  return isNull ? "null without an error" : "accepted";
}

/** Rules that a request is accepted. */
export const acceptances = (rows: readonly (readonly [title: string, ask: Ask])[]): readonly Rule[] =>
  rows.map(([title, ask]) => rule(title, "accepted", async (service) => outcomeOf(await ask(service))));

/** `accepted`, or the kind of failure. */
export function outcomeOf({ body, status, errors: [error] }: ServiceResponse): string {
  if (body !== "graphql") return `HTTP ${status}, ${body}`;
  return error ? `rejected with ${error.code ?? "no code"}` : "accepted";
}

/** The data of a response. @throws Untestable for one with errors */
export function accepted(response: ServiceResponse, what = "the request"): ServiceResponse {
  const outcome = outcomeOf(response);
  if (outcome === "accepted") return response;
  throw new Untestable(`${what} was ${outcome}`);
}

export interface Rejection {
  readonly code: string;
  readonly message: string;
  readonly [name: string]: Fact;
}

export const badInput = (message: string): Rejection => ({ code: "BAD_USER_INPUT", message });
export const notFound = (noun: string): Rejection => ({ code: "NOT_FOUND", message: `${noun} not found` });
export const unauthenticated = (message = "Unauthorized"): Rejection => ({
  code: "UNAUTHENTICATED",
  message,
});
export const forbidden: Rejection = { code: "FORBIDDEN", message: "Unauthorized" };

const isRejection = (fact: Fact): fact is Rejection =>
  typeof fact === "object" && fact !== null && "code" in fact && "message" in fact;

/** The interface says that there is an error. */
export const isRejected = (_: Fact, found: Fact): boolean => isRejection(found);

/** The interface says that the request is not carried out. */
export const isNotAccepted = (_: Fact, found: Fact): boolean => found !== "accepted";

/** The interface says the message, and not the code. */
export const hasMessage = (expected: Fact, found: Fact): boolean =>
  isRejection(expected) && isRejection(found) && expected.message === found.message;

/** The interface promises this part of a fact. */
export const sameOf =
  (name: string) =>
  (expected: Fact, found: Fact): boolean => {
    const [wanted, other] = [expected, found] as readonly Readonly<Record<string, Fact>>[];
    return isDeepStrictEqual(wanted?.[name], other?.[name]);
  };

/** The interface promises each of a list, and perhaps more. */
export const hasEach = (expected: Fact, found: Fact): boolean =>
  Array.isArray(expected) && Array.isArray(found) && expected.every((each: Fact) => found.includes(each));

/** The setting that replaces an error of the mock by that of the service. */
export function toErrorSetting(found: Fact, expected: Fact): SettingsChanges | null {
  if (!isRejection(found) || !isRejection(expected)) return null;
  const { code, message } = found;
  if (code === "no code" || message === "" || `${code}${message}`.includes("…")) return null;
  return { errors: [{ code: expected.code, message: expected.message, replaceWith: { code, message } }] };
}

/** What sets the greatest value that a message names. */
export const bound =
  (toSetting: (max: number) => SettingsChanges): Rule["setting"] =>
  (found, expected) => {
    const [max, own] = [greatestIn(found), greatestIn(expected)];
    return max !== null && max !== own ? toSetting(max) : toErrorSetting(found, expected);
  };

function greatestIn(fact: Fact): number | null {
  const [, greatest] = (isRejection(fact) && /between \d+ and (\d+)/.exec(fact.message)) || [];
  return greatest === undefined ? null : Number(greatest);
}

/** A word of the service's own, such as `tax-extraction` or `F1040`; other text may be of a client. */
export function wordOf(value: unknown): string {
  if (typeof value !== "string") return value === null ? "null" : typeof value;
  if (value === "") return "empty";
  return /^[A-Za-z0-9][\w.-]{0,40}$/.test(value) && !/[0-9a-f]{8}-/i.test(value) ? value : "…";
}

export const wordsOf = (value: unknown): Fact => (Array.isArray(value) ? value.map(wordOf) : "no list");

export const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].toSorted();
