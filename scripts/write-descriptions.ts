// What packages say to programs in other languages: the JSON Schema of each event, the deliveries as AsyncAPI, and the mock's
// control API as OpenAPI. Written from the same sources as the code of the packages, into their dist/.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { contract } from "../mock-server/control/contract.ts";
import { createOpenapiDocument } from "../mock-server/control/openapi.ts";
import { createAsyncapiDocument } from "../sdk/events/asyncapi.ts";
import { knownEventNames } from "../sdk/events/catalog.ts";
import { payloadJsonSchema } from "../sdk/events/payload-schema.ts";
import { root } from "./packages.ts";

export function writeDescriptions(): void {
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
