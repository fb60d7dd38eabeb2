import type { ErrorCode, Outcome } from "../errors.ts";

export interface ServiceError {
  readonly code: ErrorCode;
  readonly outcome: Outcome;
}

// Interface §7 and, for the url and the iterator, A-6 and A-8. Compared as prefixes: a service that adds the offending
// name to the message has not changed its meaning.
const messages: readonly (readonly [prefix: string, code: ErrorCode])[] = [
  ["unsupported webhook event type", "WEBHOOK_EVENT_TYPE_UNSUPPORTED"],
  ["at least one webhook event type is required", "WEBHOOK_EVENT_TYPE_REQUIRED"],
  ["at least one endpoint field must be updated", "WEBHOOK_ENDPOINT_FIELD_REQUIRED"],
  ["webhook endpoint limit must be between", "WEBHOOK_ENDPOINT_LIMIT_OUT_OF_RANGE"],
  ["secret grace period must be between", "SECRET_GRACE_PERIOD_OUT_OF_RANGE"],
  ["webhook endpoint url must be", "WEBHOOK_ENDPOINT_URL_INVALID"],
  ["invalid iterator", "ITERATOR_INVALID"],
];

const extensionCodes = new Map<string, ErrorCode>([
  ["FORBIDDEN", "PERMISSION_DENIED"],
  ["UNAUTHENTICATED", "TOKEN_REJECTED"],
  ["RATE_LIMITED", "RATE_LIMITED"],
  ["NOT_FOUND", "NOT_FOUND"],
  ["CONFLICT", "CONFLICT"],
  ["BAD_USER_INPUT", "INPUT_INVALID"],
  ["GRAPHQL_VALIDATION_FAILED", "DOCUMENT_INVALID"],
  ["GRAPHQL_PARSE_FAILED", "DOCUMENT_INVALID"],
]);

// With these codes, which say little, and without a code the message decides. Any other code says what happened: the
// platform's rejection that the service passes on may use the same words.
const vagueCodes: ReadonlySet<string | undefined> = new Set([
  undefined,
  "BAD_USER_INPUT",
  "INTERNAL_SERVER_ERROR",
]);

/** What an entry of `errors` means; undefined when neither its code nor its message is recognised. */
export function readServiceError(message: string, code: string | undefined): ServiceError | undefined {
  const text = message.trim().toLowerCase();
  const [, byMessage] = messages.find(([prefix]) => text.startsWith(prefix)) ?? [];
  if (byMessage && vagueCodes.has(code)) return { code: byMessage, outcome: "rejected" };
  // A resolver that failed half-way returns this, so its effect is unknown.
  if (code === "INTERNAL_SERVER_ERROR") return { code: "SERVICE_FAILED", outcome: "unknown" };
  const byCode = code === undefined ? undefined : extensionCodes.get(code);
  if (byCode) return { code: byCode, outcome: "rejected" };
  // Interface §7 says "not found" of partner operations without showing message or code.
  return code === undefined && /\bnot found\b/.test(text)
    ? { code: "NOT_FOUND", outcome: "rejected" }
    : undefined;
}
