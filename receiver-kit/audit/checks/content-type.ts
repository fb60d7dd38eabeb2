import type { CheckTable } from "./check.ts";
import { mustAcknowledge, type ProbeCheck, shouldAcknowledge } from "./probe-check.ts";

const delivered = (title: string, sent: string, ...contentTypes: (string | undefined)[]): ProbeCheck => ({
  title,
  sent,
  fix: "Read the raw body for every content type: the signature covers the bytes, not the header. With express.raw that is `type: () => true`.",
  probes: (target) =>
    contentTypes.map((contentType) => ({
      label: contentType ?? "none",
      delivery: target.compose(),
      options: { contentType },
    })),
});

export const contentTypeChecks: CheckTable = {
  "content-type.json-with-charset": mustAcknowledge(
    delivered(
      "accepts application/json with a charset",
      "deliveries as `application/json; charset=utf-8` and `application/json;charset=UTF-8`",
      "application/json; charset=utf-8",
      "application/json;charset=UTF-8",
    ),
  ),
  "content-type.other-case": shouldAcknowledge(
    delivered(
      "accepts application/json in any case",
      "deliveries as `Application/JSON` and `APPLICATION/JSON`",
      "Application/JSON",
      "APPLICATION/JSON",
    ),
  ),
  "content-type.other-json": shouldAcknowledge(
    delivered(
      "accepts other JSON types",
      "deliveries as `application/cloudevents+json` and `text/json`",
      "application/cloudevents+json",
      "text/json",
    ),
  ),
  "content-type.not-json": shouldAcknowledge(
    delivered(
      "accepts a delivery with another content type",
      "deliveries as `text/plain`, `application/octet-stream`, a form, and the malformed type `;;;=`",
      "text/plain",
      "application/octet-stream",
      "application/x-www-form-urlencoded",
      ";;;=",
    ),
  ),
  "content-type.absent": shouldAcknowledge(
    delivered(
      "accepts a delivery without a content type",
      "a delivery without the header content-type",
      undefined,
    ),
  ),
};
