import { operationDocuments, type Router, routerSchema } from "@workspace-tasks/mock-server/parts";
import { type DocumentNode, type GraphQLField, type GraphQLNamedType, isObjectType, parse } from "graphql";
import type { Evidence, ResponseShape, Shape } from "../observe/observation.ts";
import { checkShape, selectedCount, unselected } from "../rules/check-shape.ts";
import { call, type OperationName, type Probe, shared } from "../rules/probe.ts";
import { hasErrors, rejectedHere } from "../rules/read-response.ts";
import { type Fact, isUnknown, type Rule, responseOf, ruleAcross, type Unknown } from "../rules/rule.ts";

/**
 * A mutation's document, validated by the service and not executed: it executes the operation that is named, which is the
 * query.
 */
export function checkedDocument(name: OperationName): Probe {
  const { text, router } = operationDocuments[name];
  return shared(`drift.${name}`, {
    permission: "write",
    router,
    token: "admin",
    request: {
      document: `query Check { __typename }\n\n${text}`,
      operationName: "Check",
      variables: () => ({}),
    },
    about: `the document of ${name}, which is not executed`,
  });
}

/** No other rule depends on this document: it also asks for fields of `User`, which the interface does not show. */
const meProbes = [
  shared("me.details", call("Me")),
  shared("me.user-details", call("Me", {}, { token: "user" })),
];

const operationNames = Object.keys(operationDocuments) as readonly OperationName[];

const isChecked = (name: OperationName) =>
  operationDocuments[name].kind === "mutation" && name !== "ExchangeApiKey" && name !== "LoginPartner";

/** Whether an operation that the SDK ships still fits: its document is accepted, its data has the types. */
function documentRule(name: OperationName, others: readonly Probe[]): Rule {
  const { text, router } = operationDocuments[name];
  const checked = isChecked(name) ? [checkedDocument(name)] : [];
  const executed = others.filter(({ request }) => "document" in request && request.document === text);
  let parsed: DocumentNode | undefined;
  const expect = (seen: Evidence): Fact | Unknown => {
    const [validated] = responsesOf(seen, checked);
    const responses = responsesOf(seen, executed);
    if (!validated && responses.length === 0) return { unknown: reasonOf(seen, [...executed, ...checked]) };
    parsed ??= parse(text, { noLocation: true });
    const check = { issues: new Set<string>(), seen: new Set<string>() };
    for (const { errors = [] } of validated ? [validated, ...responses] : responses)
      for (const { code, message } of errors) if (isAboutDocument(code, message)) check.issues.add(message);
    for (const response of responses)
      if (response.data !== undefined && !hasErrors(response))
        checkShape(response.data, parsed, router, check);
    if (check.issues.size > 0) return [...check.issues].toSorted();
    // Rejected for another reason, such as a limit of operations per document.
    if (validated && hasErrors(validated) && check.seen.size === 0) return rejectedHere(validated);
    const selected = selectedCount(parsed);
    const isEnough = (validated && !hasErrors(validated)) || check.seen.size * 3 >= selected;
    const share = `${check.seen.size} of ${selected} fields`;
    return isEnough
      ? "the types of the contract"
      : { unknown: `the document is accepted; too little was returned to compare its types (${share})` };
  };
  const title = `the operation ${name} is accepted, and its response has the types of the contract`;
  const keeps = (_: Fact, issues: Fact) =>
    isBeyondInterface(name) ||
    (Array.isArray(issues) && issues.every((issue) => isOpen(String(issue), router)));
  return {
    ...ruleAcross(`drift.${name}`, title, undefined, { assumptions: ["A-34"], keeps }, expect),
    send: [...executed, ...checked],
  };
}

/** What `schema.graphql` marks. */
const isMarked = (each: GraphQLNamedType | GraphQLField<unknown, unknown> | undefined): boolean =>
  each?.astNode?.directives?.some(({ name }) => name.value === "beyondInterface") === true;

/** Whether the interface shows nothing of an operation. */
function isBeyondInterface(name: OperationName): boolean {
  const { text, router } = operationDocuments[name];
  const roots = Object.values(routerSchema(router).getMutationType()?.getFields() ?? {});
  return roots.some((field) => isMarked(field) && text.includes(` ${field.name}(`));
}

/** Whether the interface leaves open what an issue is about: its first type, or the field of that. */
function isOpen(issue: string, router: Router): boolean {
  if (issue.endsWith(unselected)) return true;
  const words = issue.match(/\w+/g) ?? [];
  const type = words.flatMap((word) => routerSchema(router).getType(word) ?? [])[0];
  const field = isObjectType(type) ? words.flatMap((word) => type.getFields()[word] ?? [])[0] : undefined;
  return isMarked(type) || isMarked(field);
}

const isAboutDocument = (code: string | null, message: string) =>
  code === "GRAPHQL_VALIDATION_FAILED" ||
  /^(Cannot query field|Unknown (argument|type|fragment)|Field )/.test(message);

const responsesOf = (seen: Evidence, probes: readonly Probe[]): readonly ResponseShape[] =>
  probes.flatMap((probe) => {
    const response = responseOf(seen, probe);
    return isUnknown(response) || response.body !== "graphql" ? [] : [response];
  });

/** Why none of the probes has a response. */
const reasonOf = (seen: Evidence, probes: readonly Probe[]): string =>
  probes.map((probe) => responseOf(seen, probe)).find(isUnknown)?.unknown ?? "not sent";

/** Every tag in the data of all responses. */
const tagsOf = (seen: Evidence): readonly string[] =>
  [...seen.values()].flatMap((observation) =>
    observation.outcome === "response" ? tagsIn(observation.response.data ?? null) : [],
  );

function tagsIn(value: Shape): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(tagsIn) : [];
}

/** A rule over the form of all values of a kind. */
const formRule = (id: string, title: string, form: RegExp, assumption: string) =>
  ruleAcross(id, title, "every request of the run", [assumption], (seen) => {
    const forms = tagsOf(seen).flatMap((tag) => form.exec(tag)?.[1] ?? []);
    return forms.length === 0 ? { unknown: "no response shows it" } : [...new Set(forms)].toSorted();
  });

/** @param others every other probe: the rules read their responses as well */
export const documentRules = (others: readonly Probe[]): readonly Rule[] => [
  ...operationNames.map((name) => documentRule(name, [...others, ...meProbes])),
  formRule("ids.form", "ids are UUIDs of version 7", /^id:(\w+)#/, "A-33"),
  formRule(
    "times.form",
    "times are in RFC 3339 with milliseconds, in UTC",
    /^(date(?:-other)?)(?::|$)/,
    "A-32",
  ),
];
