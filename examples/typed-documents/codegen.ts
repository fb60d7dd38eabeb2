// Generates types for the documents of an application with the client preset of graphql-codegen.

// #region codegen
import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: "schema.graphql", // in your project: node_modules/@workspace-tasks/sdk/schema.graphql
  generates: {
    // In your project: src/generated/, and src/**/*.ts
    "examples/typed-documents/generated/": {
      documents: "examples/typed-documents.ts",
      preset: "client",
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: "string", // parsed documents, the default, work too
        scalars: { Date: "string", JSON: "unknown", ID: "string" },
        useTypeImports: true,
        enumsAsTypes: true,
      },
    },
  },
  importExtension: ".ts", // ".js" where tsc compiles
};

export default config;
// #endregion
