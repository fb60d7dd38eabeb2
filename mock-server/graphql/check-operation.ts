import { didYouMean } from "@workspace-tasks/kernel/did-you-mean.ts";
import type { GraphQLField, GraphQLSchema } from "graphql";
import { MockServerError, type MockServerIssue } from "../errors.ts";
import type { FaultPlan } from "../state/fault.ts";
import type { Router } from "../state/router.ts";
import { routerSchema } from "./schema/router-schema.ts";

interface KnownOperation {
  readonly schema: GraphQLSchema;
  readonly field: GraphQLField<unknown, unknown>;
}

/**
 * The top-level field of this name.
 * @param router absent: either router
 * @throws MockServerError BODY_INVALID for a name that no schema has
 */
export function knownOperation(operation: string, router: Router | undefined): KnownOperation {
  const served = routersOf(router).map((each) => ({ schema: routerSchema(each), fields: rootFields(each) }));
  const found = served.find(({ fields }) => Object.hasOwn(fields, operation));
  const field = found?.fields[operation];
  if (found && field) return { schema: found.schema, field };
  const known = served.flatMap(({ fields }) => Object.keys(fields));
  throw new MockServerError("BODY_INVALID", `operation: ${describeUnknown(operation, router, known)}`);
}

/** A fault plan names the requests of an upload, too. @see serve-upload.ts */
const uploadOperations = ["post", "patch", "head", "delete"].map((method) => `upload.${method}`);

/**
 * A rule with a misspelt operation would never inject anything.
 * @returns why the first such rule is wrong
 */
export function wrongFaultOperation({ api = [] }: FaultPlan): MockServerIssue | undefined {
  for (const [index, { operation, router }] of api.entries()) {
    if (operation === undefined || uploadOperations.includes(operation)) continue;
    const known = routersOf(router).flatMap((each) => Object.keys(rootFields(each)));
    if (known.includes(operation)) continue;
    const message = describeUnknown(operation, router, [...known, ...uploadOperations]);
    return { path: `api.${index}.operation`, message };
  }
  return undefined;
}

const routersOf = (router: Router | undefined): readonly Router[] =>
  router === undefined ? ["base", "gateway"] : [router];

function rootFields(router: Router) {
  const schema = routerSchema(router);
  return { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() };
}

function describeUnknown(operation: string, router: Router | undefined, known: readonly string[]): string {
  const where = router ? ` of the ${router} router` : "";
  return `unknown operation ${operation}${where}${didYouMean(operation, known)}`;
}
