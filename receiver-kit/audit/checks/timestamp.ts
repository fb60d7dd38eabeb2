import type { Delivery } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";
import type { AuditCheck } from "./check.ts";
import { acknowledgedCheck, refusedCheck, type Shot } from "./probe-check.ts";

const schemes = ["standard-webhooks"] as const;
const digitsOnly =
  "Check the header's text against `^[1-9][0-9]{0,11}$` before turning it into a number; lenient number parsers take far more.";

/**
 * The present moment written in a malformed way, signed twice over: as the text of the header, and as the
 * plain number that a lenient parser makes of it. A receiver that takes either reading accepts it.
 */
function written(target: Target, label: string, write: (seconds: number) => string): Shot {
  const delivery = target.compose();
  const timestamp = write(Number(delivery.timestamp));
  const number = String(Number.parseInt(timestamp, 10));
  const asText = target.sign({ ...delivery, timestamp });
  const asNumber = target.sign({ ...delivery, timestamp: number });
  return { label, delivery: { ...delivery, timestamp, signature: `${asText} ${asNumber}` } };
}

function malformed(options: {
  readonly id: string;
  readonly title: string;
  readonly sent: string;
  readonly mend?: string;
  readonly forms: Readonly<Record<string, (seconds: number) => string>>;
}): AuditCheck {
  const { forms, ...check } = options;
  return refusedCheck({
    requirement: "SHOULD",
    mend: digitsOnly,
    ...check,
    schemes,
    shots: (target) => Object.entries(forms).map(([label, write]) => written(target, label, write)),
  });
}

function aged(target: Target, ageSeconds: number): Delivery {
  return target.compose({ ageSeconds });
}

export const timestampChecks: readonly AuditCheck[] = [
  refusedCheck({
    id: "timestamp.stale",
    requirement: "MUST",
    title: "refuses a delivery that is older than the tolerance",
    schemes,
    sent: "a rightly signed delivery, one minute older than the tolerance: what a replayed capture looks like",
    mend: "Refuse a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past.",
    shots: (target) => [{ delivery: aged(target, target.limits.toleranceSeconds + 60) }],
  }),
  refusedCheck({
    id: "timestamp.future",
    requirement: "MUST",
    title: "refuses a delivery from the future",
    schemes,
    sent: "a rightly signed delivery, one minute further in the future than the tolerance",
    mend: "Apply the tolerance in both directions: a delivery dated ahead stays replayable until then.",
    shots: (target) => [{ delivery: aged(target, -target.limits.toleranceSeconds - 60) }],
  }),
  acknowledgedCheck({
    id: "timestamp.within-tolerance",
    requirement: "SHOULD",
    title: "accepts a delivery within the tolerance on either side",
    schemes,
    sent: "deliveries 30 s short of the tolerance in the past and in the future",
    mend: "Allow for clocks that differ and for slow ways: 300 s each way is customary. Keep the clock synchronised.",
    shots: (target) => {
      const edge = Math.max(0, target.limits.toleranceSeconds - 30);
      return [
        { label: "past", delivery: aged(target, edge) },
        { label: "future", delivery: aged(target, -edge) },
      ];
    },
  }),
  refusedCheck({
    id: "timestamp.missing",
    requirement: "MUST",
    title: "refuses a delivery without a timestamp",
    schemes,
    sent: "a delivery without webhook-timestamp, and one where it is empty, signed over nothing in its place",
    mend: "Refuse a request that lacks any of the three headers with 400.",
    shots: (target) => {
      const composed = target.compose();
      const delivery = { ...composed, timestamp: "", signature: target.sign({ ...composed, timestamp: "" }) };
      const headers = target.scheme.headers(delivery);
      return [
        { label: "absent", delivery, options: { headers: headers.filter(([, value]) => value !== "") } },
        { label: "empty", delivery },
      ];
    },
  }),
  malformed({
    id: "timestamp.trailing-letter",
    title: "refuses digits followed by a letter",
    sent: "the present second with an `x` behind it",
    forms: { "123x": (seconds) => `${seconds}x` },
  }),
  malformed({
    id: "timestamp.leading-space",
    title: "refuses white space before the digits",
    sent: "the present second behind a no-break space (a plain space never arrives: HTTP drops it)",
    forms: { " 123": (seconds) => `\u00a0${seconds}` },
  }),
  malformed({
    id: "timestamp.plus-sign",
    title: "refuses a plus sign before the digits",
    sent: "the present second behind a `+`",
    forms: { "+123": (seconds) => `+${seconds}` },
  }),
  malformed({
    id: "timestamp.leading-zeros",
    title: "refuses leading zeros",
    sent: "the present second behind two zeros",
    forms: { "00123": (seconds) => `00${seconds}` },
  }),
  malformed({
    id: "timestamp.milliseconds",
    title: "refuses a timestamp in milliseconds",
    sent: "the present moment in milliseconds",
    mend: "The header is in whole seconds. Guessing the unit from the size widens the window.",
    forms: { milliseconds: (seconds) => `${seconds}000` },
  }),
  malformed({
    id: "timestamp.iso",
    title: "refuses a date written out",
    sent: "the present moment as an ISO 8601 text",
    forms: { iso: (seconds) => new Date(seconds * 1000).toISOString() },
  }),
  malformed({
    id: "timestamp.negative",
    title: "refuses a negative timestamp",
    sent: "the present second behind a minus sign",
    forms: { "-123": (seconds) => `-${seconds}` },
  }),
  malformed({
    id: "timestamp.not-a-number",
    title: "refuses a timestamp that is no number",
    sent: "`abc`, `NaN` and `Infinity`, each signed as it stands",
    mend: `${digitsOnly} A comparison with NaN is never true, so an age check written the wrong way round lets it pass.`,
    forms: { abc: () => "abc", NaN: () => "NaN", Infinity: () => "Infinity" },
  }),
  malformed({
    id: "timestamp.other-notation",
    title: "refuses other notations of the right number",
    sent: "the present second as a fraction, in exponent notation, and in hexadecimal",
    forms: {
      fraction: (seconds) => `${seconds}.0`,
      exponent: (seconds) => `${seconds}e0`,
      hexadecimal: (seconds) => `0x${seconds.toString(16)}`,
    },
  }),
  malformed({
    id: "timestamp.too-long",
    title: "refuses a number too large to be a time",
    sent: "twenty nines",
    forms: { "twenty digits": () => "9".repeat(20) },
  }),
];
