import { isPlainObject } from "@workspace-tasks/kernel/plain-object.ts";
import type { DocumentNode } from "graphql";
import { contractNames } from "./contract-words.ts";
import type { ErrorShape, ResponseShape } from "./observation.ts";
import { type RedactionContext, redactData } from "./redact-data.ts";
import { redactCode, redactMessage } from "./redact-message.ts";

/** A response as it was received. Lives in memory only. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `undefined` when the text is not JSON. */
  readonly json: unknown;
}

/** The response without any text that the service stores. */
export function observeResponse(response: RawResponse, context: RedactionContext): ResponseShape {
  const { status, json } = response;
  const isGraphql = isPlainObject(json) && ("data" in json || Array.isArray(json["errors"]));
  const common = { status, contentType: contentTypeOf(response.headers) };
  if (!isGraphql) return { ...common, body: kindOfBody(response) };
  const errors = json["errors"];
  return {
    ...common,
    body: "graphql",
    ...("data" in json ? { data: redactData(json["data"], context) } : {}),
    ...(Array.isArray(errors)
      ? { errors: errors.map((error) => observeError(error, context.document)) }
      : {}),
  };
}

const contentTypeOf = (headers: Headers): string =>
  /^[a-z]+\/[a-z0-9.+-]{1,60}/i.exec(headers.get("content-type") ?? "")?.[0]?.toLowerCase() ?? "none";

function kindOfBody({ text, json }: RawResponse): ResponseShape["body"] {
  if (text.trim() === "") return "empty";
  if (json !== undefined) return "json";
  return /^\s*<(!doctype|html|\?xml|head|body)/i.test(text) ? "html" : "text";
}

function observeError(error: unknown, document: DocumentNode | null): ErrorShape {
  const fields: Readonly<Record<string, unknown>> = isPlainObject(error) ? error : {};
  const message = typeof fields["message"] === "string" ? fields["message"] : "";
  const extensions = isPlainObject(fields["extensions"]) ? fields["extensions"] : {};
  const path = Array.isArray(fields["path"]) ? fields["path"] : null;
  const text = JSON.stringify(error) ?? "";
  return {
    message: redactMessage(message.replace(/\s*Did you mean[\s\S]*$/, "")),
    code: redactCode(extensions["code"]),
    path: document && path ? path.map(redactPathEntry) : null,
    suggests: /did you mean/i.test(message),
    leaks: /\bat \S+ \([^)]*:\d+:\d+\)|node_modules|\.(ts|js|py|go|java|rb):\d+|stacktrace|"stack"/i.test(
      text,
    ),
  };
}

const redactPathEntry = (entry: unknown): string | number =>
  typeof entry === "number" || (typeof entry === "string" && contractNames().has(entry)) ? entry : "…";
