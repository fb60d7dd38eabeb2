// Writes a parsed document as text, without line breaks. Its nodes are those of graphql-js, whichever version made them.
// Descriptions are left out: they change nothing, and a service of an older edition rejects them.

interface Node {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** Throws a `SyntaxError` for a node that is not part of an executable document. */
export function printDocument(document: object): string {
  return print(document);
}

const printers: Readonly<Record<string, (node: Node) => string>> = {
  Document: ({ definitions }) => join(definitions, " "),
  OperationDefinition: ({ operation, name, variableDefinitions, directives, selectionSet }) =>
    words(
      String(operation),
      print(name) + join(variableDefinitions, ", ", "(", ")"),
      join(directives, " "),
      print(selectionSet),
    ),
  FragmentDefinition: ({ name, typeCondition, directives, selectionSet }) =>
    words("fragment", print(name), "on", print(typeCondition), join(directives, " "), print(selectionSet)),
  VariableDefinition: ({ variable, type, defaultValue, directives }) =>
    words(
      `${print(variable)}:`,
      print(type),
      defaultValue ? `= ${print(defaultValue)}` : "",
      join(directives, " "),
    ),
  SelectionSet: ({ selections }) => join(selections, " ", "{ ", " }"),
  Field: ({ alias, name, arguments: given, directives, selectionSet }) =>
    words(
      (alias ? `${print(alias)}: ` : "") + print(name) + join(given, ", ", "(", ")"),
      join(directives, " "),
      print(selectionSet),
    ),
  FragmentSpread: ({ name, directives }) => words(`...${print(name)}`, join(directives, " ")),
  InlineFragment: ({ typeCondition, directives, selectionSet }) =>
    words(
      "...",
      typeCondition ? `on ${print(typeCondition)}` : "",
      join(directives, " "),
      print(selectionSet),
    ),
  Directive: ({ name, arguments: given }) => `@${print(name)}${join(given, ", ", "(", ")")}`,
  Argument: ({ name, value }) => `${print(name)}: ${print(value)}`,
  ObjectField: ({ name, value }) => `${print(name)}: ${print(value)}`,
  ObjectValue: ({ fields }) => `{${join(fields, ", ")}}`,
  ListValue: ({ values }) => `[${join(values, ", ")}]`,
  Variable: ({ name }) => `$${print(name)}`,
  Name: ({ value }) => String(value),
  IntValue: ({ value }) => String(value),
  FloatValue: ({ value }) => String(value),
  EnumValue: ({ value }) => String(value),
  BooleanValue: ({ value }) => String(value),
  StringValue: ({ value }) => JSON.stringify(value),
  NullValue: () => "null",
  NamedType: ({ name }) => print(name),
  ListType: ({ type }) => `[${print(type)}]`,
  NonNullType: ({ type }) => `${print(type)}!`,
};

/** The text of a node; nothing for one that is absent. */
function print(node: unknown): string {
  if (node === undefined || node === null) return "";
  const { kind } = node as Node;
  const printer = Object.hasOwn(printers, kind) ? printers[kind] : undefined;
  if (printer === undefined) throw new SyntaxError("unexpected node");
  return printer(node as Node);
}

function join(nodes: unknown, separator: string, open = "", close = ""): string {
  if (!Array.isArray(nodes) || nodes.length === 0) return "";
  return open + nodes.map(print).join(separator) + close;
}

function words(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}
