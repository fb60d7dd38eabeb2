import type { Evidence } from "../observe/observation.ts";
import { at, outcomeOf } from "./read-response.ts";
import { type Fact, known, type Rule, ruleOf, ruleOver, unknown } from "./rule.ts";

const ofRouter = (router: "base" | "gateway"): readonly Rule[] => [
  ruleOf(
    `transport.${router}-post`,
    `${router}.typename`,
    {
      title: `the ${router} router takes GraphQL by POST`,
      assumptions: router === "gateway" ? ["A-21"] : [],
    },
    (response) => ({ status: response.status, typename: at(response, "__typename") === "enum:Query" }),
  ),
  ruleOver(
    `transport.${router}-introspection`,
    [`${router}.schema`, `${router}.type`],
    { title: `introspection is rejected on the ${router} router` },
    (responses) =>
      responses.map((response) => (outcomeOf(response) === "accepted" ? "accepted" : "rejected")),
  ),
  ruleOf(
    `transport.${router}-unknown-field`,
    `${router}.near-miss`,
    { title: `an unknown field is rejected on the ${router} router, without a suggestion of names` },
    ({ errors = [], ...response }) => ({
      outcome: outcomeOf({ ...response, errors }),
      suggests: errors.some(({ suggests }) => suggests),
    }),
  ),
];

const rejectedWith4xx = (name: string, title: string): Rule =>
  ruleOf(`transport.${name}`, `http.${name}`, { title }, ({ status }) =>
    status >= 400 && status < 500 ? "4xx" : String(status),
  );

/** Every response that an expected error code came with, by code. */
function statusesOf(evidence: Evidence, codes: (code: string) => boolean): Fact {
  const found = new Map<string, Set<number>>();
  for (const observation of evidence.values()) {
    if (observation.outcome !== "response") continue;
    const { status, errors = [] } = observation.response;
    const code = errors[0]?.code;
    if (code && codes(code) && status !== 429) found.set(code, (found.get(code) ?? new Set()).add(status));
  }
  return Object.fromEntries(
    [...found].map(([code, statuses]) => [code, [...statuses].toSorted((a, b) => a - b)]),
  );
}

/** The statuses of codes that both sides have. */
function statusesAgree(expected: Fact, received: Fact): boolean {
  const statuses = received as Readonly<Record<string, Fact>>;
  return Object.entries(expected as Readonly<Record<string, Fact>>).every(
    ([code, values]) =>
      statuses[code] === undefined || JSON.stringify(statuses[code]) === JSON.stringify(values),
  );
}

const across = (
  id: string,
  texts: Pick<Rule, "title"> & Partial<Rule>,
  read: (evidence: Evidence) => Fact | null,
): Rule => ({
  assumptions: [],
  ...texts,
  id,
  probes: [],
  find(evidence) {
    const fact = read(evidence);
    return fact === null ? unknown("no response shows it") : known(fact);
  },
});

const responses = (evidence: Evidence) =>
  [...evidence.values()].flatMap((observation) => (observation.outcome === "response" ? [observation] : []));

const applicationErrors = new Set(["FORBIDDEN", "BAD_USER_INPUT", "NOT_FOUND", "CONFLICT"]);

export const transportRules: readonly Rule[] = [
  ...ofRouter("base"),
  ...ofRouter("gateway"),
  rejectedWith4xx("get", "a GET request gets a 4xx"),
  rejectedWith4xx("malformed-json", "a body that is not JSON gets a 4xx"),
  rejectedWith4xx("no-query", "a body without a query gets a 4xx"),
  rejectedWith4xx("wrong-type", "a body of another content type gets a 4xx"),
  ruleOf("transport.syntax", "http.syntax", { title: "a syntax error is rejected with a code" }, outcomeOf),
  across("transport.content-type", { title: "GraphQL responses are application/json" }, (evidence) => {
    const types = responses(evidence)
      .filter(({ response }) => response.body === "graphql")
      .map(({ response }) => response.headers["content-type"] ?? "none");
    return types.length === 0 ? null : [...new Set(types)].toSorted();
  }),
  across(
    "errors.no-internals",
    { title: "no response shows a stack trace or a path of the server" },
    (evidence) =>
      responses(evidence).some(({ response }) => (response.errors ?? []).some(({ leaks }) => leaks)),
  ),
  across(
    "errors.unauthenticated-status",
    {
      title: "a response with UNAUTHENTICATED has HTTP status 200",
      assumptions: ["A-4"],
      agrees: statusesAgree,
      settings(received) {
        const statuses = (received as Readonly<Record<string, Fact>>)["UNAUTHENTICATED"];
        return JSON.stringify(statuses) === "[401]" ? { unauthenticatedStatus: 401 } : null;
      },
    },
    (evidence) => {
      const fact = statusesOf(evidence, (code) => code === "UNAUTHENTICATED");
      return Object.keys(fact as object).length === 0 ? null : fact;
    },
  ),
  across(
    "errors.status",
    {
      title: "other errors of an operation have HTTP status 200",
      assumptions: ["A-4"],
      agrees: statusesAgree,
    },
    (evidence) => {
      const fact = statusesOf(evidence, (code) => applicationErrors.has(code));
      return Object.keys(fact as object).length === 0 ? null : fact;
    },
  ),
];
