import { signedHeaders } from "../target/signing.ts";
import type { CheckTable } from "./check.ts";
import { each, mustAcknowledge, shouldAcknowledge, shouldReject } from "./probe-check.ts";

const ofType = (contentType: string) => () => ({ contentType });
const anyType =
  "Read the raw body for every content type: the signature covers the bytes, not the header. With express.raw that is `type: () => true`.";
const charsets = ["application/json; charset=utf-8", "application/json;charset=UTF-8"];
const otherTypes = [
  ...["Application/JSON", "APPLICATION/JSON", "application/cloudevents+json", "text/json"],
  ...["text/plain", "application/octet-stream", "application/x-www-form-urlencoded", ";;;="],
];
const listOf = (types: readonly string[]) => types.map((type) => `\`${type}\``).join(", ");

export const contentTypeChecks: CheckTable = {
  "content-type.charset": mustAcknowledge({
    title: "accepts application/json with a charset",
    sent: `deliveries as ${listOf(charsets)}`,
    fix: anyType,
    change: each(charsets, ofType),
  }),
  "content-type.other": shouldAcknowledge({
    title: "accepts a delivery with another content type, or without one",
    sent: `deliveries as ${listOf(otherTypes)}, and without the header content-type`,
    fix: anyType,
    change: { ...each(otherTypes, ofType), none: () => ({ contentType: undefined }) },
  }),
};

export const methodChecks: CheckTable = {
  "methods.other": shouldReject({
    title: "rejects other methods than POST",
    unverified: undefined,
    sent: "a GET without a body, and correctly signed deliveries as PUT, PATCH and DELETE",
    expected: "405 (or another 4xx)",
    fix: "Route POST only; respond to other methods with 405 and `Allow: POST`.",
    change: {
      GET: () => ({ method: "GET", without: signedHeaders, body: Buffer.alloc(0) }),
      ...each(["PUT", "PATCH", "DELETE"], (method) => () => ({ method })),
    },
  }),
};
