import { isDeepStrictEqual } from "node:util";
import { knownEventNames } from "@workspace-tasks/events/catalog";
import { type Fields, fieldsOf, type ResponseShape, type Shape } from "../observe/observation.ts";
import { call, type Draft, type SendContext, shared, type TokenName } from "../rules/probe.ts";
import { at, eachAt, hasErrors, listAt, outcomeOf, rejectedHere, wordOf } from "../rules/read-response.ts";
import {
  hasMessage,
  rejected,
  rejectedAbove,
  rejectionsKeeping,
  withPermission,
} from "../rules/rejection.ts";
import {
  type About,
  type Fact,
  hasEach,
  type Rule,
  rule,
  ruleOver,
  sameOf,
  type Unknown,
} from "../rules/rule.ts";

const catalog = shared("catalog.public", call("WebhookEventCatalog", {}, { token: "none" }));
const events = (response: ResponseShape) => listAt(response, "webhookEventCatalog");

const words = (value: Shape | undefined): Fact =>
  Array.isArray(value)
    ? (value as readonly Shape[]).map((item) => wordOf(item) ?? String(item)).toSorted()
    : String(value);

/** A rule over the entry of an event. */
const entryRule = (
  id: string,
  title: string,
  name: string,
  about: About,
  read: (entry: Fields) => Fact,
): Rule =>
  rule(id, title, catalog, about, (response): Fact | Unknown => {
    const list = events(response);
    if (!list) return rejectedHere(response);
    const entry = list.map(fieldsOf).find((item) => item["name"] === `word:${name}`);
    return entry ? read(entry) : { unknown: `the catalog has no ${name}` };
  });

/** Of the body of `documents.synced` the interface names these fields, and no status. */
const fieldsNamed = ["connectionId", "providerKey", "sourceExternalId", "duplicateCount"];

/** The names of a schema's properties; `?` marks optional ones. */
const namesIn = (schema: Fact) => Object.keys(schema ?? {}).map((name) => name.replace("?", ""));

/** The interface shows the fields of a body, not the schema: one that refers elsewhere shows none of them. */
const hasFields =
  (name: string) =>
  (expected: Fact, received: Fact): boolean => {
    const found = namesIn(received);
    return (
      found.length === 0 || hasEach(name === "documents.synced" ? fieldsNamed : namesIn(expected), found)
    );
  };

const perEvent = (name: string): readonly Rule[] => [
  entryRule(
    `catalog.${name}`,
    `${name} has its version, status and task types`,
    name,
    name === "documents.synced" ? { assumptions: ["A-10"], keeps: sameOf("version") } : [],
    ({ version, status, taskTypes }) => ({
      version: String(version),
      status: String(status),
      taskTypes: words(taskTypes),
    }),
  ),
  entryRule(
    `catalog.payload-${name}`,
    `the payload schema of ${name} has its properties`,
    name,
    { assumptions: name === "documents.synced" ? ["A-10", "A-31"] : ["A-31"], keeps: hasFields(name) },
    ({ payloadSchema = null }) => payloadSchema as Fact,
  ),
];

type Variables =
  | Readonly<Record<string, unknown>>
  | ((context: SendContext) => Readonly<Record<string, unknown>>);

const list = (variables: Variables, token: TokenName = "admin"): Draft =>
  call("ListWebhookEndpoints", variables, { token });

const page = "me.workspace.webhookEndpoints";
/** Shows whether the key may list endpoints. */
export const endpointList = shared("endpoints.list", list({}));
const all = shared("endpoints.limit-100", list({ limit: 100 }));
const firstPage = shared("endpoints.page-1", list({ limit: 1 }));
const secondPage = shared("endpoints.page-2", {
  ...list(({ of }) => ({ limit: 1, iterator: of(firstPage, `${page}.iterator`) })),
  absent: "the workspace has fewer than two webhook endpoints",
});
const again = shared("endpoints.again", list({ limit: 100 }));

const malformed = list({ iterator: "not-an-iterator" });

const idsOf = (response: ResponseShape) => eachAt(listAt(response, `${page}.data`) ?? [], "id").map(String);

const pageMax = (endpointPageItemsMax: number) => ({ bounds: { endpointPageItemsMax } });

const listRules: readonly Rule[] = [
  rule("endpoints.list", "an administrator lists endpoints", endpointList, [], outcomeOf),
  rule("endpoints.limit-100", "a page has up to 100 endpoints", all, [], outcomeOf),
  rejectedAbove("endpoints.limit-0", "limit 0 is rejected", list({ limit: 0 }), pageMax),
  rejectedAbove("endpoints.limit-101", "limit 101 is rejected", list({ limit: 101 }), pageMax),
  rejected("endpoints.bad-iterator", "a malformed iterator is rejected", malformed, ["A-8"]),
  rule("endpoints.done", "iterator is null when done is true", all, ["A-8"], (response) => {
    if (hasErrors(response)) return rejectedHere(response);
    if (at(response, `${page}.done`) !== true) return { unknown: "there are more than 100 endpoints" };
    return { iterator: at(response, `${page}.iterator`) === null };
  }),
  ruleOver(
    "endpoints.paging",
    "pages are in the order of the whole list, without repeats",
    { all, firstPage, secondPage, again },
    [],
    (pages) => {
      if (Object.values(pages).some(hasErrors)) return { unknown: "a page was rejected" };
      const [expected, first, second] = [pages.all, pages.firstPage, pages.secondPage].map(idsOf);
      if (!isDeepStrictEqual(expected, idsOf(pages.again)))
        return { unknown: "the workspace's endpoints changed during the run" };
      return {
        lengths: [first?.length ?? 0, second?.length ?? 0],
        sameOrder: [first, second].flat().every((id, index) => id === expected?.[index]),
      };
    },
  ),
];

export const endpointRules: readonly Rule[] = [
  rule(
    "catalog.events",
    "the catalog is public and lists the known events",
    catalog,
    { assumptions: ["A-31"], keeps: hasEach },
    (response) => {
      const found = events(response);
      return found ? words(eachAt(found, "name").map((name) => name ?? null)) : outcomeOf(response);
    },
  ),
  ...knownEventNames.flatMap(perEvent),
  ...listRules.map((each) => withPermission(endpointList, each)),
  ...rejectionsKeeping(hasMessage, [
    ["endpoints.no-token", "a list of endpoints without a token is rejected", list({}, "none"), "A-4"],
    [
      "endpoints.read-only",
      "a list of endpoints with a read-only key is rejected",
      list({}, "readOnly"),
      "A-4",
    ],
  ]),
];
