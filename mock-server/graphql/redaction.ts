// People copy journal entries into bug reports, so secrets are removed before they get there: API keys, partner keys,
// and the credentials of a provider connection, in the document and in variables of any name.

import { type ArgumentNode, type DocumentNode, Kind, type ValueNode, visit } from "graphql";

const secretNames: ReadonlySet<string> = new Set([
  "refreshToken",
  "token",
  "apiKey",
  "securityToken",
  "password",
  "secret",
  "clientSecret",
  "accessToken",
]);

const redacted = "[redacted]";

export interface RedactedDocument {
  readonly text: string;
  /** Names under which variables hold secrets. */
  readonly secretVariables: ReadonlySet<string>;
}

type Span = { readonly start: number; readonly end: number };

export function redactDocument(query: string, document: DocumentNode | null): RedactedDocument {
  // Without a syntax tree nothing is known about strings: the text is cut at the first quotation mark.
  if (!document) return { text: query.split('"', 1)[0] ?? "", secretVariables: secretNames };
  const spans: Span[] = [];
  const secretVariables = new Set(secretNames);

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
      if (secretNames.has(field.name.value)) addSecret(field.value);
    },
  });
  visit(document, {
    VariableDefinition({ variable, defaultValue }) {
      if (defaultValue?.loc && secretVariables.has(variable.name.value)) spans.push(defaultValue.loc);
    },
  });
  return { text: replaceSpans(query, spans), secretVariables };
}

function isSecretArgument(field: string, { name }: ArgumentNode): boolean {
  // The credentials of the start step have names that only the partner's platform knows.
  return secretNames.has(name.value) || (field === "startProviderConnection" && name.value === "inputs");
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

/** A copy of the variables without the values of secret names, at any depth. */
export function redactVariables(value: unknown, secretVariables: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => redactVariables(item, secretVariables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      inner !== null && secretVariables.has(name) ? redacted : redactVariables(inner, secretVariables),
    ]),
  );
}
