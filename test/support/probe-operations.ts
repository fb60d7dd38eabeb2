import type { Operation } from "../../sdk/call/operation.ts";

/** Two operations for tests of the engine. */
export const probe = {
  query: operation("ProbeQuery", "query", "query ProbeQuery { __typename }"),
  mutation: operation(
    "ProbeMutation",
    "mutation",
    "mutation ProbeMutation($ref: String) { probe(ref: $ref) }",
  ),
} as const;

function operation(
  name: string,
  kind: "query" | "mutation",
  document: string,
): Operation<Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>> {
  return { name, kind, document, method: "probe", router: "base", authenticated: true };
}
