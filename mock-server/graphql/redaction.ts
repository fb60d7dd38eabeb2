import { type ArgumentNode, type DocumentNode, Kind, type ValueNode, visit } from "graphql";

// The journal is read by people and copied into bug reports, so what opens doors is masked before it gets
// there: API keys, partner keys, and the credentials of a provider connection, whether they stand in the
// document or come as variables, whatever those are called.

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

const masked = "[redacted]";

export type RedactedDocument = {
  readonly text: string;
  /** Names under which variables hold secrets. */
  readonly secretVariables: ReadonlySet<string>;
};

type Span = { readonly start: number; readonly end: number };

export function redactDocument(query: string, document: DocumentNode | null): RedactedDocument {
  // What cannot be parsed cannot be masked by name: nothing from the first quotation mark on is kept.
  if (!document) return { text: query.split('"', 1)[0] ?? "", secretVariables: secretNames };
  const spans: Span[] = [];
  const secretVariables = new Set(secretNames);

  const noteSecret = (value: ValueNode): void => {
    if (value.kind === Kind.VARIABLE) secretVariables.add(value.name.value);
    else if (value.loc) spans.push(value.loc);
  };
  visit(document, {
    Field(field) {
      for (const argument of field.arguments ?? []) {
        if (isSecretArgument(field.name.value, argument)) noteSecret(argument.value);
      }
    },
    ObjectField(field) {
      if (secretNames.has(field.name.value)) noteSecret(field.value);
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
    // Inside a span that is masked already.
    if (start < from) continue;
    result += `${text.slice(from, start)}"${masked}"`;
    from = end;
  }
  return result + text.slice(from);
}

/** A copy of the variables with everything under a secret name masked, at any depth. */
export function redactVariables(value: unknown, secretVariables: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => redactVariables(item, secretVariables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      inner !== null && secretVariables.has(name) ? masked : redactVariables(inner, secretVariables),
    ]),
  );
}
