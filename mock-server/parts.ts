// What the command `workspace-tasks` is made of, beside the public names. Not public: it changes with any release, and
// packages that depend on each other have the same version.

export { secretForm } from "./checks/secret-form.ts";
export { type Line, withoutSecrets } from "./cli/activity-log.ts";
export { createBoundedOutput, createLogOutput } from "./cli/log-output.ts";
export { readSettings } from "./cli/read-settings.ts";
export { reasonOf } from "./cli/reason-of.ts";
export { isJsonSchema } from "./control/events/payload-schema.ts";
export { operationDocuments } from "./generated/operation-documents.ts";
export { routerSchema } from "./graphql/schema/router-schema.ts";
export { signatureOf } from "./rules/deliveries/signing.ts";
export { defaultSettings, withSettings } from "./settings/settings.ts";
export { issuesOfSettings } from "./settings/settings-schema.ts";
export type { Immutable } from "./state/immutable.ts";
export type { Router } from "./state/router.ts";
