// What packages say about themselves, from the sources of their code: in their dist/ the JSON Schema of each event, the
// deliveries as AsyncAPI and the mock's control API as OpenAPI; in docs/reference the tables that documents include.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { referenceFolder } from "../docs/.vitepress/pages.ts";
import { writeReferencePages } from "../docs/generate/reference-pages.ts";
import { contract } from "../mock-server/control/contract.ts";
import { createOpenapiDocument } from "../mock-server/control/openapi.ts";
import { createAsyncapiDocument } from "../sdk/events/asyncapi.ts";
import { knownEventNames } from "../sdk/events/catalog.ts";
import { payloadJsonSchema } from "../sdk/events/payload-schema.ts";
import { root } from "./packages.ts";

export async function writeDescriptions(): Promise<void> {
  await writeReferencePages(join(root, referenceFolder));
  const documents = {
    ...Object.fromEntries(
      knownEventNames.map((name) => [`sdk/events/dist/schemas/${name}.json`, payloadJsonSchema(name)]),
    ),
    "sdk/events/dist/asyncapi.json": createAsyncapiDocument(),
    "mock-server/dist/openapi.json": createOpenapiDocument(contract),
  };
  for (const [path, document] of Object.entries(documents)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    // The one of the mock repeats its schemas: indented it would have half a megabyte.
    const indent = path.endsWith("openapi.json") ? 0 : 2;
    writeFileSync(join(root, path), `${JSON.stringify(document, null, indent)}\n`);
  }
}
