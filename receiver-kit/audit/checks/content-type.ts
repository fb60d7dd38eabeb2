import type { AuditCheck, Requirement } from "./check.ts";
import { acknowledgedCheck } from "./probe-check.ts";

function accepts(options: {
  readonly id: string;
  readonly requirement: Requirement;
  readonly title: string;
  readonly sent: string;
  readonly contentTypes: readonly (string | undefined)[];
}): AuditCheck {
  const { contentTypes, ...check } = options;
  return acknowledgedCheck({
    ...check,
    mend: "Read the raw body whatever the content type says: the signature covers the bytes, not the header. With express.raw that is `type: () => true`.",
    shots: (target) =>
      contentTypes.map((contentType) => ({
        label: contentType ?? "none",
        delivery: target.compose(),
        options: { contentType },
      })),
  });
}

export const contentTypeChecks: readonly AuditCheck[] = [
  accepts({
    id: "content-type.json-with-charset",
    requirement: "MUST",
    title: "accepts application/json with a charset",
    sent: "deliveries as `application/json; charset=utf-8` and `application/json;charset=UTF-8`",
    contentTypes: ["application/json; charset=utf-8", "application/json;charset=UTF-8"],
  }),
  accepts({
    id: "content-type.other-case",
    requirement: "SHOULD",
    title: "accepts application/json in any case",
    sent: "deliveries as `Application/JSON` and `APPLICATION/JSON`",
    contentTypes: ["Application/JSON", "APPLICATION/JSON"],
  }),
  accepts({
    id: "content-type.other-json",
    requirement: "SHOULD",
    title: "accepts other JSON types",
    sent: "deliveries as `application/cloudevents+json` and `text/json`",
    contentTypes: ["application/cloudevents+json", "text/json"],
  }),
  accepts({
    id: "content-type.not-json",
    requirement: "SHOULD",
    title: "accepts a delivery labelled as something else",
    sent: "deliveries as `text/plain` and `application/octet-stream`",
    contentTypes: ["text/plain", "application/octet-stream"],
  }),
  accepts({
    id: "content-type.absent",
    requirement: "SHOULD",
    title: "accepts a delivery without a content type",
    sent: "a delivery without the header content-type",
    contentTypes: [undefined],
  }),
];
