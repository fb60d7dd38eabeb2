import { TextBlock } from "@workspace-tasks/page-parts/values.tsx";
import { type GraphQLSchema, isIntrospectionType, isSpecifiedScalarType, printType } from "graphql";
import { useState } from "preact/hooks";

/** The operations of the service's schema, or its types that contain a text. */
export function SchemaDocs({ schema }: { readonly schema: GraphQLSchema }) {
  const [text, setText] = useState("");
  const needle = text.trim().toLowerCase();
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
  const found =
    needle === ""
      ? types.filter(({ name }) => name === "Query" || name === "Mutation").map(printType)
      : types.map(printType).filter((type) => type.toLowerCase().includes(needle));
  return (
    <details class="schema-docs">
      <summary>Schema</summary>
      <input
        type="search"
        aria-label="search the schema"
        placeholder="type or field, such as createClient"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <TextBlock text={found.join("\n\n") || "No type contains it."} />
    </details>
  );
}
