import type { Router } from "@workspace-tasks/mock-server/parts";
import type { Evidence, Responded } from "../observe/observation.ts";
import { type Draft, query } from "../rules/probe.ts";
import { at, outcomeOf } from "../rules/read-response.ts";
import { isNotAccepted } from "../rules/rejection.ts";
import {
  type About,
  type Fact,
  type Rule,
  rule,
  ruleAcross,
  ruleOver,
  sameOf,
  type Unknown,
} from "../rules/rule.ts";

const typename = "{ __typename }";

const ofRouter = (router: Router): readonly Rule[] => {
  const send = (document: string) => query(document, { router, token: "none" });
  return [
    rule(
      `transport.${router}-post`,
      `the ${router} router takes GraphQL by POST`,
      send(typename),
      { assumptions: router === "gateway" ? ["A-21", "A-35"] : ["A-35"], keeps: sameOf("outcome") },
      (response) => ({
        outcome: outcomeOf(response),
        status: response.status,
        typename: at(response, "__typename") === "enum:Query",
      }),
    ),
    ruleOver(
      `transport.${router}-introspection`,
      `introspection is rejected on the ${router} router`,
      {
        schema: send("{ __schema { queryType { name } } }"),
        type: send('{ __type(name: "Query") { name } }'),
      },
      [],
      ({ schema, type }) =>
        [schema, type].map((response) => (outcomeOf(response) === "accepted" ? "accepted" : "rejected")),
    ),
    rule(
      `transport.${router}-unknown-field`,
      `an unknown field is rejected on the ${router} router, without a suggestion of names`,
      send("{ mee { __typename } }"),
      {
        assumptions: ["A-30", "A-35"],
        keeps: (_, received) => !sameOf("outcome")({ outcome: "accepted" }, received),
      },
      ({ errors = [], ...response }) => ({
        outcome: outcomeOf({ ...response, errors }),
        suggests: errors.some(({ suggests }) => suggests),
      }),
    ),
  ];
};

const rejectedWith4xx = (
  name: string,
  title: string,
  method: string,
  body: string | null,
  contentType: string | null = "application/json",
): Rule => {
  const send: Draft = {
    ...query("", { token: "none" }),
    request: { method, path: "/graphql", contentType, body },
  };
  return rule(`transport.${name}`, title, send, ["A-35"], ({ status }) =>
    status >= 400 && status < 500 ? "4xx" : String(status),
  );
};

const across = (
  id: string,
  title: string,
  about: About,
  read: (responses: readonly Responded[]) => Fact | Unknown,
): Rule => ruleAcross(id, title, "every request of the run", about, (seen) => read(responsesIn(seen)));

const responsesIn = (seen: Evidence) =>
  [...seen.values()].filter((observation) => observation.outcome === "response");

/** The HTTP statuses that came with each of these codes. */
const statusRule = (
  id: string,
  title: string,
  codes: readonly string[],
  settings?: (fact: Fact) => object | null,
) =>
  across(id, title, { assumptions: ["A-4"], agrees: statusesAgree, settings }, (responses) => {
    const found = new Map<string, Set<number>>();
    for (const { response } of responses) {
      const { status, errors = [] } = response;
      const code = errors[0]?.code;
      if (code && codes.includes(code) && status !== 429)
        found.set(code, (found.get(code) ?? new Set()).add(status));
    }
    if (found.size === 0) return { unknown: "no response shows it" };
    return Object.fromEntries([...found].map(([code, all]) => [code, [...all].toSorted((a, b) => a - b)]));
  });

/** The statuses of codes that both sides have. */
function statusesAgree(expected: Fact, received: Fact): boolean {
  const statuses = received as Readonly<Record<string, Fact>>;
  return Object.entries(expected as Readonly<Record<string, Fact>>).every(
    ([code, values]) =>
      statuses[code] === undefined || JSON.stringify(statuses[code]) === JSON.stringify(values),
  );
}

const validBody = JSON.stringify({ query: typename });
const unfinished = query("{ me {", { token: "none" });
const otherCodes = ["FORBIDDEN", "BAD_USER_INPUT", "NOT_FOUND", "CONFLICT"];

export const transportRules: readonly Rule[] = [
  ...ofRouter("base"),
  ...ofRouter("gateway"),
  rejectedWith4xx("get", "a GET request gets a 4xx", "GET", null, null),
  rejectedWith4xx("malformed-json", "a body that is not JSON gets a 4xx", "POST", "{"),
  rejectedWith4xx("no-query", "a body without a query gets a 4xx", "POST", "{}"),
  rejectedWith4xx("wrong-type", "a body of another content type gets a 4xx", "POST", validBody, "text/plain"),
  rule(
    "transport.syntax",
    "a syntax error is rejected with a code",
    unfinished,
    { assumptions: ["A-30"], keeps: isNotAccepted },
    outcomeOf,
  ),
  across("transport.content-type", "GraphQL responses are application/json", ["A-35"], (responses) => {
    const types = responses
      .filter(({ response }) => response.body === "graphql")
      .map(({ response }) => response.contentType);
    return types.length === 0 ? { unknown: "no response shows it" } : [...new Set(types)].toSorted();
  }),
  across(
    "errors.no-internals",
    "no response shows a stack trace or a path of the server",
    ["A-35"],
    (responses) => responses.some(({ response }) => (response.errors ?? []).some(({ leaks }) => leaks)),
  ),
  statusRule(
    "errors.unauthenticated-status",
    "a response with UNAUTHENTICATED has HTTP status 200",
    ["UNAUTHENTICATED"],
    (received) =>
      JSON.stringify(received) === '{"UNAUTHENTICATED":[401]}' ? { unauthenticatedStatus: 401 } : null,
  ),
  statusRule("errors.status", "other errors of an operation have HTTP status 200", otherCodes),
];
