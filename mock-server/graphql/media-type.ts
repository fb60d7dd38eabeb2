export type MediaType = "application/json" | "application/graphql-response+json";

/**
 * The media type of the response: the first one in `Accept` that the service supports, `application/json` without
 * the header; `null` when it supports none.
 * @see https://graphql.github.io/graphql-over-http/draft/#sec-Accept
 */
export function negotiateMediaType(accept: string | undefined): MediaType | null {
  if (!accept || accept === "*/*" || accept === "application/json") return "application/json";
  for (const range of accept.replace(/\s/g, "").toLowerCase().split(",")) {
    const [name, ...parameters] = range.split(";");
    const charset = parameters.find((parameter) => parameter.startsWith("charset="));
    if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) continue;
    if (name === "application/graphql-response+json") return name;
    if (name === "application/json" || name === "application/*" || name === "*/*") return "application/json";
  }
  return null;
}
