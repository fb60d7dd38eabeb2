import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema } from "graphql";
import { defineConfig, mergeConfig } from "vite";
import { pageConfig } from "../../../scripts/build-page.ts";

const schema = buildSchema(readFileSync(join(import.meta.dirname, "../../../schema.graphql"), "utf8"));
const operationNames = [schema.getQueryType(), schema.getMutationType()]
  .flatMap((type) => Object.keys(type?.getFields() ?? {}))
  .sort();

export default defineConfig(
  mergeConfig(pageConfig(import.meta.dirname, "../../dist/inspector"), {
    define: { __OPERATION_NAMES__: JSON.stringify(operationNames) },
    // The editor is one chunk, which only the Run view loads.
    build: { chunkSizeWarningLimit: 700 },
  }),
);
