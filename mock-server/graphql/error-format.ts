// What clients see of an error. A `ServiceError` keeps its message; a mistake in the document or its variables keeps
// that of graphql-js, without its suggestions, which would name fields although introspection is off (T3); anything
// else is a bug and becomes "Internal server error" (T6).

import { GraphQLError, type GraphQLFormattedError } from "graphql";
import type { ServiceErrorCode } from "../errors.ts";
import { ServiceError } from "../rules/service-error.ts";
import type { ErrorReplacement } from "../settings/settings.ts";

export type FormattedError = GraphQLFormattedError & { readonly extensions: { readonly code: string } };

/** @param codeOfMistakes for mistakes in the document or its variables that carry no code themselves */
export function formatError(error: GraphQLError, codeOfMistakes: ServiceErrorCode): FormattedError {
  const { originalError } = error;
  const where = { ...locationsOf(error), ...(error.path ? { path: error.path } : {}) };
  if (originalError instanceof ServiceError) {
    return { message: originalError.message, ...where, extensions: { code: originalError.code } };
  }
  if (originalError && !(originalError instanceof GraphQLError)) {
    return { message: "Internal server error", ...where, extensions: { code: "INTERNAL_SERVER_ERROR" } };
  }
  const given = error.extensions["code"];
  const code = typeof given === "string" ? given : codeOfMistakes;
  return { message: withoutSuggestion(error.message), ...where, extensions: { code } };
}

/** The error as the settings word it. */
export function withReplacement(
  error: FormattedError,
  replacements: readonly ErrorReplacement[],
): FormattedError {
  const { code } = error.extensions;
  const found = replacements.find((each) => each.code === code && each.message === error.message);
  if (!found) return error;
  const { replaceWith } = found;
  return {
    ...error,
    message: replaceWith.message ?? error.message,
    extensions: { ...error.extensions, code: replaceWith.code ?? code },
  };
}

function locationsOf(error: GraphQLError) {
  return error.locations ? { locations: error.locations } : {};
}

function withoutSuggestion(message: string): string {
  return message.replace(/ Did you mean .*\?$/s, "");
}

/** Why a request failed, for the journal: the service's reason, or what the client sees. */
export function reasonOf(error: GraphQLError): string {
  const { originalError } = error;
  if (originalError instanceof ServiceError) return originalError.reason ?? originalError.message;
  if (originalError && !(originalError instanceof GraphQLError)) {
    return `internal error: ${originalError.message}`;
  }
  return withoutValue(withoutSuggestion(error.message));
}

/** Errors about the type of a value quote it, and it may be a secret. */
export function withoutValue(message: string): string {
  return message.replace(/(?<=Variable "\$\w+" got invalid value).*|, found .*/s, "");
}
