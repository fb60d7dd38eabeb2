// The part of `npm run codegen` that does not come from schema.graphql: the calls of the control API, from its contract, and
// the JSON Schema of the settings.
import { controlCallsFile, controlCallsModule } from "./control-api-table.ts";
import { settingsJsonSchema, settingsSchemaFile } from "./settings-docs.ts";
import { update } from "./update.ts";

update(controlCallsFile, controlCallsModule());
update(settingsSchemaFile, settingsJsonSchema());
