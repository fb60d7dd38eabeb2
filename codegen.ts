import type { CodegenConfig } from "@graphql-codegen/cli";

const scalars = { Date: "string", JSON: "unknown", ID: "string" };

/** Writes `generated/` folders and nothing else; the result is committed and checked for freshness. */
const config: CodegenConfig = {
  schema: "schema.graphql",
  generates: {
    "sdk/generated/operations.ts": {
      documents: "sdk/operations/*.graphql",
      plugins: ["typescript-operations", "typed-document-node"],
      config: {
        scalars,
        documentMode: "string",
        useTypeImports: true,
        enumType: "string-literal",
        enumsAsTypes: true,
        immutableTypes: true,
        avoidOptionals: false,
        emitLegacyCommonJSImports: false,
        dedupeFragments: true,
      },
    },
    // The schema's types with its descriptions: the SDK's public types pick their fields from them.
    "sdk/generated/schema-types.ts": {
      plugins: ["typescript"],
      config: {
        scalars,
        onlyEnums: false,
        enumsAsTypes: true,
        immutableTypes: true,
        avoidOptionals: { field: true, inputValue: false, object: false, defaultValue: false },
        maybeValue: "T | null",
        skipTypename: true,
        emitLegacyCommonJSImports: false,
      },
    },
    "sdk/generated/operation-table.ts": {
      documents: "sdk/operations/*.graphql",
      plugins: ["./scripts/operation-table-plugin.mjs"],
    },
    "mock-server/generated/resolvers.ts": {
      plugins: ["typescript", "typescript-resolvers"],
      config: {
        scalars,
        useTypeImports: true,
        enumsAsTypes: true,
        contextType: "../rules/identity/resolver-context.ts#ResolverContext",
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
          TaskTaxPrepResult: "../../sdk/events/index.ts#TaxPrepResult",
        },
        emitLegacyCommonJSImports: false,
      },
    },
  },
};

export default config;
