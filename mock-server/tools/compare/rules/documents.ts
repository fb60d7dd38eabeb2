import { operationDocuments, type Router, routerSchema } from "@workspace-tasks/mock-server/parts";
import { type GraphQLField, type GraphQLNamedType, isObjectType, parse } from "graphql";
import { checkShape, selectedCount, unselected } from "../ask/check-shape.ts";
import { accepted, type Fact, type Rule, rule } from "../ask/rule.ts";
import { Untestable } from "../ask/send.ts";
import type { OperationName, Service, ServiceError } from "../ask/service.ts";
import { validate } from "./records.ts";

const operationNames = Object.keys(operationDocuments) as readonly OperationName[];

const isValidated = (name: OperationName) =>
  operationDocuments[name].kind === "mutation" && name !== "ExchangeApiKey" && name !== "LoginPartner";

/** Whether an operation that the SDK ships still fits: its document is accepted, its data has the types. */
const documentRule = (name: OperationName): Rule => {
  const { text, router } = operationDocuments[name];
  const says = `the operation ${name} is accepted, and its response has the types of the contract`;
  return rule(
    `${name === "Me" ? "K10 " : ""}V1 A-34 drift.${name}: ${says}`,
    "the types of the contract",
    async (service) => {
      await askForMe(name, service);
      const validated = isValidated(name) ? await validate(service, name) : null;
      return factOf(name, service, validated);
    },
    {
      ...(isValidated(name) ? { needs: "writes" } : {}),
      keeps: (_, issues) =>
        isBeyondInterface(name) ||
        (Array.isArray(issues) && issues.every((issue: Fact) => isOpen(String(issue), router))),
    },
  );

  /** Reads what the other rules have received, too. */
  function factOf(
    name: OperationName,
    service: Service,
    validated: Awaited<ReturnType<typeof validate>> | null,
  ): Fact {
    const responses = service.responses.filter(
      ({ document, body }) => document === text && body === "graphql",
    );
    if (!validated && responses.length === 0) throw new Untestable(`no response shows ${name}`);
    const document = parse(text, { noLocation: true });
    const check = { issues: new Set<string>(), seen: new Set<string>() };
    for (const { errors } of validated ? [validated, ...responses] : responses)
      for (const error of errors) if (isAboutDocument(error)) check.issues.add(error.message);
    for (const { data, errors } of responses)
      if (data && errors.length === 0) checkShape(data, document, router, check);
    if (check.issues.size > 0) return [...check.issues].toSorted();
    // Rejected for another reason, such as a limit of operations per document.
    if (validated && check.seen.size === 0) accepted(validated);
    const selected = selectedCount(document);
    if (validated?.errors.length === 0 || check.seen.size * 3 >= selected) return "the types of the contract";
    const share = `${check.seen.size} of ${selected} fields`;
    throw new Untestable(`the document is accepted; too little was returned to compare its types (${share})`);
  }
};

/** No other rule depends on this document: it also asks for fields of `User`, which the interface does not show. */
async function askForMe(name: OperationName, service: Service): Promise<void> {
  if (name !== "Me") return;
  await service.operation("Me");
  await service.operation("Me", {}, { token: "user" });
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

const isAboutDocument = ({ code, message }: ServiceError) =>
  code === "GRAPHQL_VALIDATION_FAILED" ||
  /^(Cannot query field|Unknown (argument|type|fragment)|Field )/.test(message);

/** Asked after the others, whose responses they read. */
export const documentRules: readonly Rule[] = operationNames.map(documentRule);
