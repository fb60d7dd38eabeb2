import type { CheckTable } from "./check.ts";
import { each, mustAcknowledge, shouldAcknowledge, shouldReject } from "./probe-check.ts";

const sentAs = (title: string, ...types: readonly [string, ...string[]]) => ({
  title,
  sent: `deliveries as ${types.map((type) => `\`${type}\``).join(", ")}`,
  fix: anyType,
  change: each(types, (contentType) => () => ({ contentType })),
});

const anyType =
  "Read the raw body for every content type: the signature covers the bytes, not the header. With express.raw that is `type: () => true`.";

export const contentTypeChecks: CheckTable = {
  "content-type.json-with-charset": mustAcknowledge(
    sentAs(
      "accepts application/json with a charset",
      "application/json; charset=utf-8",
      "application/json;charset=UTF-8",
    ),
  ),
  "content-type.other-case": shouldAcknowledge(
    sentAs("accepts application/json in any case", "Application/JSON", "APPLICATION/JSON"),
  ),
  "content-type.other-json": shouldAcknowledge(
    sentAs("accepts other JSON types", "application/cloudevents+json", "text/json"),
  ),
  "content-type.not-json": shouldAcknowledge(
    sentAs(
      "accepts a delivery with another content type",
      "text/plain",
      "application/octet-stream",
      "application/x-www-form-urlencoded",
      ";;;=",
    ),
  ),
  "content-type.absent": shouldAcknowledge({
    title: "accepts a delivery without a content type",
    sent: "a delivery without the header content-type",
    fix: anyType,
    change: { none: () => ({ contentType: undefined }) },
  }),
};

const postOnly = {
  expected: "405 (or another 4xx)",
  fix: "Route POST only; respond to other methods with 405 and `Allow: POST`.",
};

export const methodChecks: CheckTable = {
  "methods.get": shouldReject({
    ...postOnly,
    title: "rejects GET",
    sent: "a GET without a body",
    change: () => ({ method: "GET", without: ["id", "timestamp", "signature"], body: Buffer.alloc(0) }),
  }),
  "methods.put": shouldReject({
    ...postOnly,
    title: "rejects signed deliveries by other methods than POST",
    sent: "correctly signed deliveries as PUT, PATCH and DELETE",
    change: each(["PUT", "PATCH", "DELETE"], (method) => () => ({ method })),
  }),
};
