// What the command `workspace-tasks` is made of, beside the public names. Not public: it changes with any release, and
// packages that depend on each other have the same version.

export { secretForm } from "./checks.ts";
export { createBoundedOutput, createLogOutput, type Line, withoutSecrets } from "./cli/activity-log.ts";
export { orFail, readSettings, reasonOf } from "./cli/read-settings.ts";
export { isJsonSchema } from "./control/events.ts";
export { operationDocuments } from "./generated/operation-documents.ts";
export { plainSchema } from "./graphql/schema.ts";
export { lookupLocalhost } from "./node/http-transport.ts";
export { signatureOf } from "./rules/delivery-attempt.ts";
export { defaultSettings, withSettings } from "./settings/settings.ts";
export { issuesOfSettings } from "./settings/settings-schema.ts";
export type { Immutable, Router } from "./state/fault.ts";
