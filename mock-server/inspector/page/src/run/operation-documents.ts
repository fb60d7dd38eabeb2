// The documents that the SDK ships, as text for people to start from. The SDK's code is not part of the page.

import {
  buildSchema,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  typeFromAST,
  visit,
} from "graphql";
import schemaText from "../../../../../schema.graphql?raw";

const files = import.meta.glob<string>("../../../../../sdk/operations/*.graphql", {
  query: "?raw",
  import: "default",
  eager: true,
});

export const schema: GraphQLSchema = buildSchema(schemaText);

const definitions = Object.values(files).flatMap((text) => parse(text, { noLocation: true }).definitions);
const fragments = new Map(
  definitions.flatMap((definition) =>
    definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
  ),
);

export interface OperationDocument {
  readonly name: string;
  readonly router: "base" | "gateway";
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

export const operationDocuments: readonly OperationDocument[] = definitions
  .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
  .map(toDocument)
  .sort((a, b) => a.name.localeCompare(b.name));

function toDocument(operation: OperationDefinitionNode): OperationDocument {
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragmentsOf(operation)] };
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type }) => {
    const inputType = typeFromAST(schema, type as never) as GraphQLInputType | undefined;
    return [variable.name.value, inputType ? sampleValue(variable.name.value, inputType) : null];
  });
  return {
    name: operation.name?.value ?? "",
    router: routerOf(operation),
    text: print(document),
    variables: Object.fromEntries(variables),
  };
}

/** The fragments that a selection spreads, directly or through others. */
function fragmentsOf(operation: OperationDefinitionNode): readonly FragmentDefinitionNode[] {
  const found = new Set<FragmentDefinitionNode>();
  const collect = (node: OperationDefinitionNode | FragmentDefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value);
        if (!fragment || found.has(fragment)) return;
        found.add(fragment);
        collect(fragment);
      },
    });
  };
  collect(operation);
  return [...found];
}

/** The gateway, when no other router serves the operation's first field. */
function routerOf({ operation, selectionSet }: OperationDefinitionNode): "base" | "gateway" {
  const [first] = selectionSet.selections;
  const root = operation === "mutation" ? schema.getMutationType() : schema.getQueryType();
  const field = first?.kind === Kind.FIELD ? root?.getFields()[first.name.value] : undefined;
  const directive = field?.astNode?.directives?.find(({ name }) => name.value === "router");
  const names = directive?.arguments?.[0]?.value;
  const routers =
    names?.kind === Kind.LIST ? names.values.map((value) => "value" in value && value.value) : [];
  return routers.length > 0 && !routers.includes("BASE") ? "gateway" : "base";
}

const depthMax = 4;

/** A value of the type to start from: required fields of an input object, and `null` for what may be absent. */
function sampleValue(name: string, type: GraphQLInputType, depth = 0): unknown {
  const nullable = getNullableType(type);
  if (nullable === type && depth > 0) return null;
  if (isListType(nullable)) return [];
  const named = getNamedType(nullable);
  if (isEnumType(named)) return named.getValues()[0]?.name ?? null;
  if (isInputObjectType(named)) {
    if (depth >= depthMax) return null;
    const fields = Object.values(named.getFields()).filter(
      (field) => isRequiredInputField(field) || depth === 0,
    );
    return Object.fromEntries(
      fields.map((field) => [field.name, sampleValue(field.name, field.type, depth + 1)]),
    );
  }
  if (nullable === type) return null;
  if (named.name === "Int" || named.name === "Float") return 1;
  if (named.name === "Boolean") return true;
  return name === "url" ? "http://127.0.0.1:3000/webhooks" : "";
}
