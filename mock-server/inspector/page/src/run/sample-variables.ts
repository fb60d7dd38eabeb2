import { schemaText } from "@workspace-tasks/mock-server/control";
import * as graphql from "graphql";

export const schema = graphql.buildSchema(schemaText);

/** Variables of a document to start from. */
export function sampleVariables(text: string): Readonly<Record<string, unknown>> {
  const samples = graphql.parse(text).definitions.flatMap((definition) =>
    "variableDefinitions" in definition
      ? (definition.variableDefinitions ?? []).map(({ variable, type }) => {
          const name = variable.name.value;
          return [
            name,
            sampleValue(
              name,
              graphql.typeFromAST(schema, type as never) as unknown as graphql.GraphQLInputType,
            ),
          ];
        })
      : [],
  );
  return Object.fromEntries(samples);
}

/** Of an input object the required fields, of a variable that is one all of them; `null` for what may be absent. */
function sampleValue(name: string, type: graphql.GraphQLInputType, isVariable = true): unknown {
  const nullable = graphql.getNullableType(type);
  const isOptional = nullable === type;
  if (isOptional && !isVariable) return null;
  if (graphql.isListType(nullable)) return [];
  if (graphql.isEnumType(nullable)) return nullable.getValues()[0]?.name ?? null;
  if (graphql.isInputObjectType(nullable)) {
    const fields = Object.values(nullable.getFields()).filter(
      (field) => isVariable || graphql.isRequiredInputField(field),
    );
    return Object.fromEntries(
      fields.map((field) => [field.name, sampleValue(field.name, field.type, false)]),
    );
  }
  if (isOptional) return null;
  if (nullable.name === "Int" || nullable.name === "Float") return 1;
  if (nullable.name === "Boolean") return true;
  return name === "url" ? "http://127.0.0.1:3000/webhooks" : "";
}
