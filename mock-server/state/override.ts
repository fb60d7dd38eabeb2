import * as z from "zod";
import { type Immutable, routerNames } from "./fault.ts";

const error = z.strictObject({
  message: z.string(),
  code: z.string().optional().describe("In `extensions.code`."),
  path: z
    .array(z.union([z.string(), z.number()]))
    .optional()
    .describe("Below the operation. Default: the operation itself."),
});

export const overrideMatchFields = {
  router: routerNames.optional(),
  keyId: z.string().optional().describe("The API key or partner key."),
  workspaceId: z.string().optional().describe("The workspace of the token."),
  variables: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("Fields that the variables must have, at any depth."),
  times: z.int().min(1).optional().describe("How often it responds. Default: always."),
  invalid: z
    .boolean()
    .optional()
    .describe("`true`: the data is sent as it is, also where the schema does not allow it."),
};

export const overrideSchema = z
  .strictObject({
    operation: z.string().min(1).describe("A top-level field, such as `createClient`."),
    ...overrideMatchFields,
    data: z
      .unknown()
      .optional()
      .describe("The value of the operation; only what the request selects of it is sent."),
    patch: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("Merged into the real response, field by field; anything but an object replaces."),
    errors: z.array(error).min(1).max(100).optional().describe("Without `data` the operation is `null`."),
  })
  .refine(
    ({ data, patch, errors }) => data !== undefined || patch !== undefined || errors !== undefined,
    "expected data, patch or errors",
  )
  .refine(({ data, patch }) => data === undefined || patch === undefined, "expected data or patch, got both");

type NewOverride = Immutable<z.output<typeof overrideSchema>>;
export type OverrideError = Immutable<z.output<typeof error>>;
/** Which requests an override responds to, and how often. */
export type OverrideOptions = Pick<
  NewOverride,
  "router" | "keyId" | "workspaceId" | "variables" | "times" | "invalid"
>;
