import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
} from "graphql";
import { useState } from "preact/hooks";

/** Hits that are shown; a longer word finds the others. */
const shownMax = 12;

/** The service's schema with its descriptions, searched by the name of a type or field. */
export function SchemaDocs({ schema }: { readonly schema: GraphQLSchema }) {
  const [text, setText] = useState("");
  const needle = text.trim().toLowerCase();
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));
  const found = types.filter((type) =>
    needle === "" ? isRoot(type) : namesIn(type).some((name) => name.toLowerCase().includes(needle)),
  );
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
      {found.length === 0 && <p class="muted">No type or field has this name.</p>}
      {found.slice(0, shownMax).map((type) => (
        <TypeDocs key={type.name} type={type} needle={needle} />
      ))}
      {found.length > shownMax && <p class="muted">{found.length - shownMax} more types</p>}
    </details>
  );
}

const isRoot = ({ name }: GraphQLNamedType) => name === "Query" || name === "Mutation";

const fieldsOf = (type: GraphQLNamedType) =>
  isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)
    ? Object.values(type.getFields())
    : [];

const valuesOf = (type: GraphQLNamedType) =>
  isEnumType(type) ? type.getValues() : isUnionType(type) ? type.getTypes() : [];

const namesIn = (type: GraphQLNamedType) =>
  [type, ...fieldsOf(type), ...valuesOf(type)].map(({ name }) => name);

function TypeDocs({ type, needle }: { readonly type: GraphQLNamedType; readonly needle: string }) {
  const isWhole = needle === "" || type.name.toLowerCase().includes(needle);
  const lines = [...fieldsOf(type), ...valuesOf(type)].filter(
    ({ name }) => isWhole || name.toLowerCase().includes(needle),
  );
  return (
    <section>
      <h4 class="mono">{type.name}</h4>
      {type.description && <p class="muted">{type.description}</p>}
      <dl>
        {lines.map((line) => (
          <div key={line.name}>
            <dt class="mono">{signatureOf(line)}</dt>
            {line.description && <dd class="muted">{line.description}</dd>}
          </div>
        ))}
      </dl>
    </section>
  );
}

function signatureOf(line: { readonly name: string; readonly type?: unknown }): string {
  if (line.type === undefined) return line.name;
  const parameters = "args" in line ? (line as GraphQLField<unknown, unknown>).args : [];
  const list = parameters.map(({ name, type }) => `${name}: ${type}`).join(", ");
  return `${line.name}${list && `(${list})`}: ${line.type}`;
}
