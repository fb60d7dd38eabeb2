/**
 * The interface as rules with permanent ids. The title of each conformance test starts with the id of its rule; a rule
 * without a test fails the suite. Numbers such as A-5 are assumptions where the interface is silent, see
 * docs/assumptions.md.
 */
export const rules = {
  T1: "each router is one POST endpoint that takes {query, variables, operationName} as JSON and returns {data, errors}",
  T2: "base operations exist on the base router only, partner operations on the gateway only (A-21)",
  T3: "introspection is rejected on both routers, `__typename` works, and no error suggests names",
  T4: "malformed JSON, a missing query, a wrong content type and GET get a 4xx with a clear message and no stack trace",
  T5: "a failing field is null and has an error with message, path and, where one is named, a code",
  T6: "unexpected internal errors are masked",
  T7: "`source-platform` is accepted on gateway calls, recorded in the request journal, and optional (A-1)",

  K1: "the exchange needs no Bearer token and returns both tokens",
  K2: "tokens last 180 s; a request may shorten that, a longer lifetime is clamped, 0 and less are rejected (A-2)",
  K3: "an expired token is rejected, the key can be exchanged again, older tokens keep their own expiry",
  K4: "a wrong, revoked or expired key gets an error and no tokens (A-3)",
  K5: "keys expire after 30, 60, 90 (default) or 365 days",
  K6: "tokens act as the key's user; a change of the membership applies to valid tokens at once",
  K7: "a read_only key may query, and every mutation is rejected with FORBIDDEN",
  K8: "a key is shown once, when it is created",
  K9: "`me` is a WorkspaceUser for a workspaceToken and a User for a userToken, and needs one of them (A-4)",
  K10: "WorkspaceUser, UserShortDetails and WorkspaceRole have exactly the fields of the interface",

  L1: "more than 120 requests in 60 s with one key: 429, Retry-After in whole seconds, RATE_LIMITED",
  L2: "one count per key, over all its tokens and both routers (A-20)",
  L3: "the exchange, uploads and calls without a token are not counted",
  L4: "after the stated interval the next call succeeds; a rejected request does not lengthen the wait (A-5)",
  L5: "two keys never share a count",

  W1: "a created endpoint is enabled and its whsec_ secret comes from create and rotate only",
  W2: "an omitted or null description becomes an empty string",
  W3: "omitted or null eventTypes mean all events and read back as null",
  W4: "an empty list of event types is rejected, on create and on update",
  W5: "an unknown event name is rejected; duplicates are removed, in the order of first appearance",
  W6: "the url must be HTTPS (A-6)",
  W7: "update is a patch in which omitted and null differ",
  W8: "an update that changes nothing is rejected",
  W9: "an update changes updatedAt, never createdAt",
  W10: "delete returns true and ends delivery, retries included; later uses of the id fail (A-7)",
  W11: "listing is complete and free of repeats in pages of 1 to 100, whatever changes in between",
  W12: "a malformed or foreign cursor is an error (A-8)",
  W13: "after a rotation both secrets verify until the grace period ends (A-9)",
  W14: "all but the catalog need an administrator's read_write workspaceToken (A-4)",
  W15: "an endpoint of another workspace fails as an unknown id",

  C1: "the catalog is public and lists every event",
  C2: "payloadSchema is JSON Schema Draft 7 and every delivered body validates against it",
  C3: "documents.synced has no status and no task types (A-10)",

  E1: "each change of a task's status emits the event whose suffix is that status",
  E2: "the task payload has exactly its fields, and the same change always has the same id",
  E3: "errorMessage, taxPrepResult and customerError appear only where they belong; customerError waits for the grace period",
  E4: "stage payloads are the task's without result and classification, plus the stage",
  E5: "documents.synced lists the documents of a pull, and only pulls emit it (A-10)",
  E6: "an endpoint without eventTypes also receives events added later",
  E7: "events of one workspace never reach another's endpoints",

  D1: "a delivery is a POST of the exact signed bytes with the three Standard Webhooks headers",
  D2: "webhook-id stays the same over retries and replays; timestamp and signature are new",
  D3: "only 2xx acknowledges; everything else is retried on the schedule (A-11)",
  D4: "a paused endpoint receives nothing; pending deliveries resume, events during the pause are not sent (A-12)",
  D5: "a delivery may repeat, be late or out of order, but is never lost",
  D6: "every attempt is recorded with its time, outcome, duration, exact request and response",

  P1: "createWorkspace checks displayName, firmSize and metadata and returns an active partner workspace with a unique slug",
  P2: "createWorkspace fails without a valid token that has the permission",
  P3: "collectProviderConnection sets active or an error state, stores and returns its inputs, and rejects unknown ids (A-13)",
  P4: "createConnectionJob needs an active connection of the caller; a new job is pending",
  P5: "createJobWorks is all or nothing, for open jobs, with externalId unique per connection (A-14)",
  P6: "works get distinct ids and work ids",
  P7: "the whole partner flow runs, from starting a connection to reading finished tasks (A-15, A-16)",
  P8: "ids of another partner fail as unknown ids",

  V1: "unknown stages, events, fields and enum values never make a consumer fail",
} as const;
