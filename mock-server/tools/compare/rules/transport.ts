import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { Router } from "@workspace-tasks/mock-server/parts";
import { distinct, type Fact, isNotAccepted, outcomeOf, type Rule, rule, sameOf } from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import type { RawRequest, Service, ServiceResponse } from "../ask/service.ts";

const typename = "{ __typename }";

const ofRouter = (router: Router): readonly Rule[] => {
  const ask = (service: Service, document: string) =>
    service.graphql(document, {}, { router, token: "none" });
  return [
    rule(
      `T1 ${router === "gateway" ? "A-21 " : ""}A-35 transport.${router}-post: the ${router} router takes GraphQL by POST`,
      { typename: "Query", status: 200 },
      async (service) => {
        const { status, data } = await ask(service, typename);
        return { typename: data?.["__typename"] === "Query" ? "Query" : "none", status };
      },
      { keeps: sameOf("typename") },
    ),
    rule(
      `T3 transport.${router}-introspection: introspection is rejected on the ${router} router`,
      ["rejected", "rejected"],
      async (service) => {
        const schema = await ask(service, "{ __schema { queryType { name } } }");
        const type = await ask(service, '{ __type(name: "Query") { name } }');
        return [schema, type].map((each) => (outcomeOf(each) === "accepted" ? "accepted" : "rejected"));
      },
    ),
    rule(
      `T3 A-30 A-35 transport.${router}-unknown-field: an unknown field is rejected on the ${router} router, without a suggestion of names`,
      { outcome: "rejected with GRAPHQL_VALIDATION_FAILED", suggests: false },
      async (service) => {
        const response = await ask(service, "{ mee { __typename } }");
        const suggests = response.errors.some(({ text }) => /did you mean/i.test(text));
        return { outcome: outcomeOf(response), suggests };
      },
      { keeps: (_, found) => !sameOf("outcome")({ outcome: "accepted" }, found) },
    ),
  ];
};

const json = { method: "POST", contentType: "application/json" };
const malformed: readonly (readonly [name: string, says: string, Omit<RawRequest, "path">])[] = [
  ["get", "a GET request", { method: "GET" }],
  ["malformed-json", "a body that is not JSON", { ...json, body: "{" }],
  ["no-query", "a body without a query", { ...json, body: "{}" }],
  [
    "wrong-type",
    "a body of another content type",
    { method: "POST", contentType: "text/plain", body: JSON.stringify({ query: typename }) },
  ],
];

export const transportRules: readonly Rule[] = [
  ...ofRouter("base"),
  ...ofRouter("gateway"),
  ...malformed.map(([name, says, request]) =>
    rule(`T4 A-35 transport.${name}: ${says} gets a 4xx`, "4xx", async (service) => {
      const { status } = await service.raw({ path: "/graphql", ...request });
      return status >= 400 && status < 500 ? "4xx" : String(status);
    }),
  ),
  rule(
    "T1 A-30 transport.syntax: a syntax error is rejected with a code",
    "rejected with GRAPHQL_PARSE_FAILED",
    async (service) => outcomeOf(await service.graphql("{ me {", {}, { token: "none" })),
    { keeps: isNotAccepted },
  ),
];

/** A rule over what all responses of the run show. */
const across = (
  title: string,
  expected: Fact,
  read: (responses: readonly ServiceResponse[]) => readonly string[],
  setting?: Rule["setting"],
): Rule =>
  rule(
    title,
    expected,
    ({ responses }) => {
      const found = read(responses);
      if (found.length === 0) throw new Untestable("no response shows it");
      return distinct(found);
    },
    { setting },
  );

/** The HTTP statuses that came with these codes. */
const statusesOf = (codes: readonly string[]) => (responses: readonly ServiceResponse[]) =>
  responses
    .filter(({ status, errors }) => codes.includes(errors[0]?.code ?? "") && status !== 429)
    .map(({ status }) => String(status));

/** Every value of a field whose name is like this, in the data of all responses. */
const valuesOf = (responses: readonly ServiceResponse[], name: RegExp): readonly string[] => {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isPlainObject(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      if (name.test(key) && (typeof inner === "string" || typeof inner === "number"))
        found.push(String(inner));
      visit(inner);
    }
  };
  for (const { data } of responses) visit(data);
  return found;
};

const leak = /\bat \S+ \([^)]*:\d+:\d+\)|node_modules|\.(ts|js|py|go|java|rb):\d+|stacktrace|"stack"/i;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Asked last: they read every response of the run. */
export const responseRules: readonly Rule[] = [
  across(
    "T1 A-35 transport.content-type: GraphQL responses are application/json",
    ["application/json"],
    (responses) => responses.filter(({ body }) => body === "graphql").map(({ contentType }) => contentType),
  ),
  rule(
    "T6 A-35 errors.no-internals: no response shows a stack trace or a path of the server",
    false,
    ({ responses }) => responses.some(({ errors }) => errors.some(({ text }) => leak.test(text))),
  ),
  across(
    "T5 A-4 errors.unauthenticated-status: a response with UNAUTHENTICATED has HTTP status 200",
    ["200"],
    statusesOf(["UNAUTHENTICATED"]),
    (found) => (String(found) === "401" ? { unauthenticatedStatus: 401 } : null),
  ),
  across(
    "T5 A-4 errors.status: other errors of an operation have HTTP status 200",
    ["200"],
    statusesOf(["FORBIDDEN", "BAD_USER_INPUT", "NOT_FOUND", "CONFLICT"]),
  ),
  across("A-33 ids.form: ids are UUIDs of version 7", ["uuid7"], (responses) =>
    valuesOf(responses, /^id$|^(?!external)\w+Id$/).map((id) => {
      const version = uuid.exec(id)?.[1];
      return version === undefined ? "other" : `uuid${version}`;
    }),
  ),
  across("A-32 times.form: times are in RFC 3339 with milliseconds, in UTC", ["date"], (responses) =>
    valuesOf(responses, /At$/).map((value) => (time.test(value) ? "date" : "another format")),
  ),
];
