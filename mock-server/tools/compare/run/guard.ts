// Read-only is a property of what is sent, checked on the bytes of every request, and not of how a plan was made.

import { jsonOrUndefined } from "@workspace-tasks/kernel/json.ts";
import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import { type DocumentNode, Kind, OperationTypeNode, parse } from "graphql";

/** Mutations that change nothing: they issue tokens. */
const tokenExchanges: ReadonlySet<string> = new Set([
  "exchangeSurfaceRefreshTokenForAccessTokens",
  "loginViaPersonalApiToken",
]);

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
}

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request could change something: any mutation or subscription but a token exchange, or another path. */
export function mayChangeSomething({ method, url, body }: Sent): boolean {
  if (!safeMethods.has(method) && !url.endsWith("/graphql")) return true;
  if (body === null) return false;
  const query = queryOf(body);
  if (query === null) return /mutation|subscription/i.test(body);
  try {
    return hasMutation(parse(query));
  } catch {
    return /mutation|subscription/i.test(query);
  }
}

function queryOf(body: string): string | null {
  const value = jsonOrUndefined(body);
  const isKnown = (name: string) => ["query", "variables", "operationName"].includes(name);
  if (!isPlainObject(value) || !Object.keys(value).every(isKnown)) return null;
  return typeof value["query"] === "string" ? value["query"] : null;
}

const hasMutation = (document: DocumentNode): boolean =>
  document.definitions.some((definition) => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return false;
    if (definition.operation === OperationTypeNode.QUERY) return false;
    return !definition.selectionSet.selections.every(
      (selection) => selection.kind === Kind.FIELD && tokenExchanges.has(selection.name.value),
    );
  });
