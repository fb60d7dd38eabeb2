import * as z from "zod";
import type { Immutable } from "./immutable.ts";
import { routerNames } from "./router.ts";

export const journalEntrySchema = z.strictObject({
  /** 1 for the first request of a world. */
  sequence: z.int(),
  atMs: z.number(),
  router: routerNames,
  operationName: z.string().nullable(),
  operations: z.array(z.string()).describe("Top-level fields; empty when the document was not valid."),
  /** The document, cut to `journalTextCharsMax`; `null` without one. */
  query: z.string().nullable(),
  /** `null` without variables, and when they were longer than `journalTextCharsMax`. */
  variables: z.unknown().describe("Keys and tokens are redacted."),
  caller: z.enum(["anonymous", "user", "member", "partner"]),
  keyId: z.string().nullable(),
  userId: z.string().nullable(),
  workspaceId: z.string().nullable(),
  /** The `source-platform` header. @see interface §4 */
  sourcePlatform: z.string().nullable(),
  status: z.int().nullable().describe("HTTP status; `null` when the connection was cut instead."),
  errors: z.array(
    z.strictObject({ message: z.string(), code: z.string().nullable(), path: z.string().nullable() }),
  ),
  rejection: z.string().nullable().describe("Why it was rejected, in more detail than the caller gets."),
  /** Kinds of the faults injected into it. */
  faults: z.array(z.string()),
  overridden: z
    .array(z.string())
    .exactOptional()
    .describe("Operations that an override responded to; absent without any."),
  durationMs: z.number(),
});

/** One GraphQL request and its response. Secrets are redacted before they get here. */
export type JournalEntry = Immutable<z.infer<typeof journalEntrySchema>>;
