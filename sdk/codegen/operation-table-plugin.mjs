// A code generator plugin: the kind of each operation under `sdk/operations`, its field, the router that serves it, and
// whether it needs a token. The last two are properties of the schema (`@router`, `@public`), so no call repeats them. An operation
// that no single router can serve stops the code generation.
import { getDirectiveValues, getNamedType, isCompositeType, Kind, typeFromAST } from "graphql";

const allRouters = ["BASE", "GATEWAY"];

export function plugin(schema, documents) {
  const { fragments, operations } = definitionsIn(documents);
  const rows = operations.map((operation) => row(schema, fragments, operation));
  return [
    "/** Every operation, with what the schema's `@router` and `@public` say about it. */",
    "export const operationTable = {",
    ...rows.sort(),
    "} as const;",
    "",
  ].join("\n");
}

export function definitionsIn(documents) {
  const definitions = documents.flatMap((file) => file.document.definitions);
  const fragments = definitions.filter((d) => d.kind === Kind.FRAGMENT_DEFINITION);
  const operations = definitions.filter((d) => d.kind === Kind.OPERATION_DEFINITION);
  return { fragments: new Map(fragments.map((d) => [d.name.value, d])), operations };
}

function row(schema, fragments, operation) {
  const name = operation.name.value;
  const root = schema.getRootType(operation.operation);
  const routers = routersOf(schema, fragments, operation.selectionSet, root, allRouters);
  if (routers.length === 0) throw new Error(`operation ${name}: no single router serves all of its fields`);
  const router = routers.includes("BASE") ? "base" : "gateway";
  const authenticated = !operation.selectionSet.selections.every((selection) =>
    getDirectiveValues(schema.getDirective("public"), root.getFields()[selection.name.value].astNode),
  );
  const [{ name: field }, ...others] = operation.selectionSet.selections;
  if (others.length > 0) throw new Error(`operation ${name}: a call returns one field`);
  return `  ${name}: { kind: "${operation.operation}", field: "${field.value}", router: "${router}", authenticated: ${authenticated} },`;
}

export function routersOf(schema, fragments, selectionSet, type, routers) {
  let left = routers;
  for (const selection of selectionSet.selections) {
    if (selection.kind === Kind.FIELD) {
      if (selection.name.value === "__typename") continue;
      const field = type.getFields()[selection.name.value];
      const directive = getDirectiveValues(schema.getDirective("router"), field.astNode);
      if (directive) left = left.filter((router) => directive.names.includes(router));
      const fieldType = getNamedType(field.type);
      if (isCompositeType(fieldType) && selection.selectionSet) {
        left = routersOf(schema, fragments, selection.selectionSet, fieldType, left);
      }
    } else {
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      const fragmentType = fragment.typeCondition ? typeFromAST(schema, fragment.typeCondition) : type;
      left = routersOf(schema, fragments, fragment.selectionSet, fragmentType, left);
    }
  }
  return left;
}
