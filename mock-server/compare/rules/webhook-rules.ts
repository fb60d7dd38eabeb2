import { isDeepStrictEqual } from "node:util";
import { knownEventNames } from "../../../sdk/events/catalog.ts";
import { isPlainObject } from "../../plain-object.ts";
import type { ResponseShape, Shape } from "../observe/observation.ts";
import { at, eachAt, hasErrors, listAt, outcomeOf, rejectedHere, wordOf } from "./read-response.ts";
import { rejection, rejectionWith, toErrorSetting, withPermission } from "./rejection-rules.ts";
import { type Fact, type Rule, ruleOf, ruleOver, type Unknown } from "./rule.ts";

const catalog = "webhookEventCatalog";

function entryOf(response: ResponseShape, name: string): Readonly<Record<string, Shape>> | Unknown {
  const list = listAt(response, catalog);
  if (!list) return rejectedHere(response);
  const entry = list.find((item) => isPlainObject(item) && item["name"] === `word:${name}`);
  return isPlainObject(entry)
    ? (entry as Readonly<Record<string, Shape>>)
    : { unknown: `the catalog has no ${name}` };
}

const words = (value: Shape | undefined): Fact =>
  Array.isArray(value)
    ? (value as readonly Shape[]).map((item) => wordOf(item) ?? String(item)).toSorted()
    : String(value);

const perEvent = (name: string): readonly Rule[] => [
  ruleOf(
    `catalog.${name}`,
    "catalog.public",
    {
      title: `${name} has its version, status and task types`,
      assumptions: name === "documents.synced" ? ["A-10"] : [],
    },
    (response) => {
      const entry = entryOf(response, name);
      if ("unknown" in entry && typeof entry.unknown === "string") return { unknown: entry.unknown };
      const { version, status, taskTypes } = entry as Readonly<Record<string, Shape>>;
      return { version: String(version), status: String(status), taskTypes: words(taskTypes) };
    },
  ),
  ruleOf(
    `catalog.payload-${name}`,
    "catalog.public",
    {
      title: `the payload schema of ${name} has its properties`,
      assumptions: name === "documents.synced" ? ["A-10"] : [],
    },
    (response) => {
      const entry = entryOf(response, name);
      if ("unknown" in entry && typeof entry.unknown === "string") return { unknown: entry.unknown };
      return ((entry as Readonly<Record<string, Shape>>)["payloadSchema"] ?? null) as Fact;
    },
  ),
];

const page = "me.workspace.webhookEndpoints";

const limitRange = /between \d+ and (\d+)/;

/** The setting behind a limit that a message names. */
export function limitFromMessage(received: Fact): number | null {
  const message = isPlainObject(received) ? received["message"] : null;
  const [, limit] = typeof message === "string" ? (limitRange.exec(message) ?? []) : [];
  return limit === undefined ? null : Number(limit);
}

const limitRule = (id: string, probe: string, title: string): Rule =>
  rejectionWith(id, probe, {
    title,
    settings(received, expected) {
      const max = limitFromMessage(received);
      const sameWords =
        JSON.stringify(received).replace(/\d+/g, "") === JSON.stringify(expected).replace(/\d+/g, "");
      return max !== null && sameWords
        ? { bounds: { endpointPageItemsMax: max } }
        : toErrorSetting(received, expected);
    },
  });

const listRules: readonly Rule[] = [
  ruleOf("endpoints.list", "endpoints.list", { title: "an administrator lists endpoints" }, outcomeOf),
  ruleOf(
    "endpoints.limit-100",
    "endpoints.limit-100",
    { title: "a page has up to 100 endpoints" },
    outcomeOf,
  ),
  limitRule("endpoints.limit-0", "endpoints.limit-0", "limit 0 is rejected"),
  limitRule("endpoints.limit-101", "endpoints.limit-101", "limit 101 is rejected"),
  rejection("endpoints.bad-iterator", "endpoints.bad-iterator", "a malformed iterator is rejected", "A-8"),
  ruleOf(
    "endpoints.done",
    "endpoints.limit-100",
    { title: "iterator is null when done is true" },
    (response) => {
      if (hasErrors(response)) return rejectedHere(response);
      if (at(response, `${page}.done`) !== true) return { unknown: "there are more than 100 endpoints" };
      return { iterator: at(response, `${page}.iterator`) === null };
    },
  ),
  ruleOver(
    "endpoints.paging",
    ["endpoints.limit-100", "endpoints.page-1", "endpoints.page-2", "endpoints.again"],
    { title: "pages are in the order of the whole list, without repeats" },
    ([all, first, second, again]) => {
      if (!all || !first || !second || !again || [all, first, second, again].some(hasErrors))
        return { unknown: "a page was rejected" };
      const idsOf = (response: ResponseShape) =>
        eachAt(listAt(response, `${page}.data`) ?? [], "id").map(String);
      const expected = idsOf(all);
      if (!isDeepStrictEqual(expected, idsOf(again)))
        return { unknown: "the workspace's endpoints changed during the run" };
      const pages = [...idsOf(first), ...idsOf(second)];
      return {
        lengths: [idsOf(first).length, idsOf(second).length],
        sameOrder: pages.every((id, index) => id === expected[index]),
      };
    },
  ),
];

export const webhookRules: readonly Rule[] = [
  ruleOf(
    "catalog.events",
    "catalog.public",
    { title: "the catalog is public and lists the known events" },
    (response) => {
      const list = listAt(response, catalog);
      return list ? words(eachAt(list, "name").map((name) => name ?? null)) : outcomeOf(response);
    },
  ),
  ...knownEventNames.flatMap(perEvent),
  rejection(
    "endpoints.no-token",
    "endpoints.no-token",
    "a list of endpoints without a token is rejected",
    "A-4",
  ),
  rejection(
    "endpoints.read-only",
    "endpoints.read-only",
    "a list of endpoints with a read-only key is rejected",
    "A-4",
  ),
  ...listRules.map((rule) => withPermission("endpoints.list", rule)),
];
