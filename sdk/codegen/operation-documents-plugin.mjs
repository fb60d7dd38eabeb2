// A code generator plugin: the text of each operation under `sdk/operations`, with the fragments that it uses and the
// router that serves it. `compare` sends them to a service to see whether they still fit.
import { print, visit } from "graphql";
import { definitionsIn, routersOf } from "./operation-table-plugin.mjs";

export function plugin(schema, documents) {
  const { fragments, operations } = definitionsIn(documents);
  const rows = operations.map((operation) => {
    const root = schema.getRootType(operation.operation);
    const routers = routersOf(schema, fragments, operation.selectionSet, root, ["BASE", "GATEWAY"]);
    const router = routers.includes("BASE") ? "base" : "gateway";
    const text = [operation, ...fragmentsOf(operation, fragments)].map(print).join("\n\n");
    return `  ${operation.name.value}: {\n    kind: "${operation.operation}",\n    router: "${router}",\n    text: \`${text}\`,\n  },`;
  });
  return [
    "/** Every operation that the SDK ships, as it is sent. */",
    "export const operationDocuments = {",
    ...rows.sort(),
    "} as const;",
    "",
  ].join("\n");
}

function fragmentsOf(definition, fragments, found = new Set()) {
  visit(definition, {
    FragmentSpread({ name }) {
      const fragment = fragments.get(name.value);
      if (found.has(fragment)) return;
      found.add(fragment);
      fragmentsOf(fragment, fragments, found);
    },
  });
  return [...found];
}
