// People copy journal entries into bug reports, so secrets are removed before they get there. They are found in two ways:
// by their place, which is an argument, input field or variable with a name of secrets, and by their shape, which works
// in comments, in misspelled arguments and in documents that cannot be parsed.

import { textOfUtf8, utf8 } from "@workspace-tasks/kernel/bytes.ts";
import { type ArgumentNode, type DocumentNode, Kind, type ValueNode, visit } from "graphql";

const redacted = "[redacted]";

/** Keys of this service, signing secrets, JWTs; credentials of an `Authorization` header; user info of a URL. */
const secretShape =
  /wt[kp]_[\w-]{8,}|whsec_[\w+/=-]{8,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|\b(bearer |basic )[^\s",;\\]{6,}|(:\/\/)[^\s/?#"@]+(?=@)/gi;

/**
 * A copy of the text without anything that has the shape of a secret: a part of a string keeps the whole one in memory. Takes
 * quadratic time for hostile text: cut it before.
 */
export const redactText = (text: string): string =>
  textOfUtf8(utf8(text)).replace(
    secretShape,
    (_, scheme = "", slashes = "") => `${scheme}${slashes}${redacted}`,
  );

const secretName = /token|secret|passw|apikey|authorization|credential|^key$/i;
const isSecretName = (name: string) => secretName.test(name.replaceAll(/[-_]/g, ""));

export interface RedactedDocument {
  readonly text: string;
  /** Variables that hold secrets, besides those that are called so. */
  readonly secretVariables: ReadonlySet<string>;
}

type Span = { readonly start: number; readonly end: number };

/** @param charsMax of the text; it is cut there */
export function redactDocument(
  query: string,
  document: DocumentNode | null,
  charsMax: number,
): RedactedDocument {
  const cut = (text: string) => redactText(text.slice(0, charsMax));
  // Without a syntax tree nothing is known about strings: the text is cut at the first quotation mark.
  if (!document) return { text: cut(query.split('"', 1)[0] ?? ""), secretVariables: new Set() };
  const spans: Span[] = [];
  const secretVariables = new Set<string>();

  const addSecret = (value: ValueNode): void => {
    if (value.kind === Kind.VARIABLE) secretVariables.add(value.name.value);
    else if (value.loc) spans.push(value.loc);
  };
  visit(document, {
    Field(field) {
      for (const argument of field.arguments ?? []) {
        if (isSecretArgument(field.name.value, argument)) addSecret(argument.value);
      }
    },
    ObjectField(field) {
      if (isSecretName(field.name.value)) addSecret(field.value);
    },
  });
  visit(document, {
    VariableDefinition({ variable: { name }, defaultValue }) {
      const isSecret = secretVariables.has(name.value) || isSecretName(name.value);
      if (defaultValue?.loc && isSecret) spans.push(defaultValue.loc);
    },
  });
  return { text: cut(replaceSpans(query, spans)), secretVariables };
}

/** Fields whose every argument may be a secret: its name may be misspelled, or known to the partner's platform only. */
const publicArguments: ReadonlyMap<string, readonly string[]> = new Map([
  ["exchangeSurfaceRefreshTokenForAccessTokens", ["expiresInSeconds"]],
  ["loginViaPersonalApiToken", []],
  ["startProviderConnection", ["workspaceId", "providerKey"]],
]);

function isSecretArgument(field: string, { name }: ArgumentNode): boolean {
  const known = publicArguments.get(field);
  return isSecretName(name.value) || (known !== undefined && !known.includes(name.value));
}

function replaceSpans(text: string, spans: readonly Span[]): string {
  let result = "";
  let from = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    // Inside a span that is already redacted.
    if (start < from) continue;
    result += `${text.slice(from, start)}"${redacted}"`;
    from = end;
  }
  return result + text.slice(from);
}

/** JSON without secrets; text that is cut, or no JSON, without what has a name or the shape of one. */
export function redactJson(text: string): string {
  try {
    return JSON.stringify(redactVariables(JSON.parse(text), new Set()));
  } catch {
    const named = /"([^"\\]{1,100})"(\s*:\s*)"(?:[^"\\]|\\.)*"?/g;
    return redactText(
      text.replace(named, (pair, name, colon) =>
        isSecretName(name) ? `"${name}"${colon}"${redacted}"` : pair,
      ),
    );
  }
}

/** A copy of the variables without secrets, at any depth. */
export function redactVariables(value: unknown, secretVariables: ReadonlySet<string>): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactVariables(item, secretVariables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isSecret = inner !== null && (secretVariables.has(name) || isSecretName(name));
      return [redactText(name), isSecret ? redacted : redactVariables(inner, secretVariables)];
    }),
  );
}
