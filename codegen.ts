import type { CodegenConfig } from "@graphql-codegen/cli";
import typedDocuments from "./examples/typed-documents/codegen.ts";

const scalars = { Date: "string", JSON: "unknown", ID: "string" };

/** Everything that is generated and ships; `npm run docs` writes documents. The result is committed, and CI checks that it is up to date. */
const config: CodegenConfig = {
  schema: "schema.graphql",
  importExtension: ".ts",
  generates: {
    ...typedDocuments.generates,
    "sdk/generated/operations.ts": {
      documents: "sdk/operations/*.graphql",
      plugins: ["typescript-operations", "typed-document-node"],
      config: {
        scalars,
        documentMode: "string",
        useTypeImports: true,
        immutableTypes: true,
      },
    },
    // The schema's types with its descriptions. The SDK's public types select their fields from them.
    "sdk/generated/schema-types.ts": {
      plugins: ["typescript"],
      config: {
        scalars,
        enumsAsTypes: true,
        immutableTypes: true,
        avoidOptionals: { field: true },
        maybeValue: "T | null",
        skipTypename: true,
      },
    },
    "sdk/generated/operation-table.ts": {
      documents: "sdk/operations/*.graphql",
      plugins: ["./sdk/codegen/operation-table-plugin.mjs"],
    },
    "mock-server/generated/operation-documents.ts": {
      documents: "sdk/operations/*.graphql",
      plugins: ["./sdk/codegen/operation-documents-plugin.mjs"],
    },
    "mock-server/generated/schema-text.ts": {
      plugins: ["./mock-server/codegen/schema-text-plugin.mjs"],
    },
    "mock-server/generated/control-calls.ts": {
      plugins: ["./mock-server/codegen/control-calls-plugin.ts"],
    },
    "mock-server/mock-settings.schema.json": {
      plugins: ["./mock-server/codegen/settings-schema-plugin.ts"],
    },
    "mock-server/generated/resolvers.ts": {
      plugins: ["typescript", "typescript-resolvers"],
      config: {
        scalars,
        immutableTypes: true,
        // A result of a rule has every field of its type: GraphQL would serve a missing one as null.
        avoidOptionals: { field: true },
        inputMaybeValue: "T | null | undefined",
        useTypeImports: true,
        enumsAsTypes: true,
        mappers: {
          Workspace: "../state/records.ts#WorkspaceRecord",
          WorkspaceShortDetails: "../state/records.ts#WorkspaceRecord",
          WorkspaceUser: "../state/records.ts#MembershipRecord",
          User: "../state/records.ts#UserRecord",
          UserShortDetails: "../state/records.ts#UserRecord",
          WebhookEndpoint: "../state/records.ts#WebhookEndpointRecord",
          ProviderConnection: "../state/records.ts#ConnectionRecord",
          ConnectionJob: "../state/records.ts#JobRecord",
          JobWork: "../state/records.ts#JobWorkRecord",
          JobArtifact: "../state/records.ts#ArtifactRecord",
          WorkArtifact: "../state/records.ts#ArtifactRecord",
          Client: "../state/records.ts#ClientRecord",
          ClientShortDetails: "../state/records.ts#ClientRecord",
          Task: "../state/records.ts#TaskRecord",
          SubTask: "../state/records.ts#StageRecord",
          TaskTaxPrepResult: "@workspace-tasks/events/fields#TaxPrepResult",
        },
      },
    },
  },
};

export default config;
