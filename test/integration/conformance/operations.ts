// The mutations of the interface as functions of their variables. Their documents are not those of the SDK.

import type { CallOptions, GraphqlResponse, Harness, Loose } from "./harness.ts";

export type Variables = Readonly<Record<string, unknown>>;
/** With what the mutation returned. */
type MutationResponse = GraphqlResponse & { readonly value: Loose };
type Mutation = (variables: Variables, options?: CallOptions) => Promise<MutationResponse>;

/** A mutation whose arguments have the names of its parameters. */
export function mutation(
  service: Harness,
  name: string,
  parameters: string,
  selection = "",
  defaults?: () => CallOptions,
): Mutation {
  const args = parameters.replaceAll(/\$(\w+): [^,]+/g, "$1: $$$1");
  const query = `mutation (${parameters}) { ${name}(${args}) ${selection} }`;
  return async (variables, options = defaults?.()) => {
    const response = await service.graphql(query, variables, options);
    return { ...response, value: response.data?.[name] };
  };
}

/** What a mutation that succeeds returned. */
export async function done(response: Promise<MutationResponse>): Promise<Loose> {
  const { errors, text, value } = await response;
  if (errors) throw new Error(`expected no errors, got ${text}`);
  return value;
}

const fields = "id url description enabled eventTypes createdAt updatedAt";

/** The mutations of endpoints as functions of their input. */
export function endpointMutations(service: Harness) {
  const ofInput = (name: string, type: string, selection: string) => {
    const run = mutation(service, name, `$input: ${type}!`, selection);
    return (input: Variables, options?: CallOptions) => run({ input }, options);
  };
  const remove = mutation(service, "deleteWebhookEndpoint", "$endpointId: ID!");
  const withSecret = `{ endpoint { ${fields} } signingSecret }`;
  return {
    create: ofInput("createWebhookEndpoint", "CreateWebhookEndpointInput", withSecret),
    update: ofInput("updateWebhookEndpoint", "UpdateWebhookEndpointInput", `{ ${fields} }`),
    remove: (endpointId: string, options?: CallOptions) => remove({ endpointId }, options),
    rotate: ofInput("rotateWebhookEndpointSecret", "RotateWebhookEndpointSecretInput", withSecret),
    list: (variables: Variables = {}, options?: CallOptions) =>
      service.graphql(
        `query ($limit: Int, $iterator: String) {
          me { ... on WorkspaceUser { workspace { webhookEndpoints(limit: $limit, iterator: $iterator) {
            data { ${fields} } done iterator
          } } } }
        }`,
        variables,
        options,
      ),
  };
}
