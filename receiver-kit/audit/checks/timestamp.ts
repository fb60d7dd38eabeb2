import type { Target } from "../target/target.ts";
import type { CheckDefinition, CheckTable } from "./check.ts";
import {
  labelled,
  mustReject,
  type Probe,
  type ProbeCheck,
  shouldAcknowledge,
  shouldReject,
  withoutHeader,
} from "./probe-check.ts";

const digitsOnly =
  "Check the header's text against `^[1-9][0-9]{0,11}$` before converting it to a number; lenient number parsers accept far more.";

type Write = (seconds: number) => string;

/**
 * The current time in a malformed form, with two signatures: over the text of the header, and over the number that a
 * lenient parser makes of it. A receiver that uses either reading accepts it.
 */
function written(target: Target, write: Write): Probe {
  const delivery = target.compose();
  const timestamp = write(Number(delivery.timestamp));
  const number = String(Number.parseInt(timestamp, 10));
  const asText = target.sign({ ...delivery, timestamp });
  const asNumber = target.sign({ ...delivery, timestamp: number });
  return { delivery: { ...delivery, timestamp, signature: `${asText} ${asNumber}` } };
}

function malformed({
  forms,
  ...check
}: Pick<ProbeCheck, "title" | "sent"> & {
  readonly fix?: string;
  readonly forms: Readonly<Record<string, Write>>;
}): CheckDefinition {
  return shouldReject({
    fix: digitsOnly,
    ...check,
    probes: (target) => labelled(forms, (write) => written(target, write)),
  });
}

export const timestampChecks: CheckTable = {
  "timestamp.stale": mustReject({
    title: "rejects a delivery that is older than the tolerance",
    sent: "a correctly signed delivery, one minute older than the tolerance, like a replayed capture",
    fix: "Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past.",
    probes: (target) => target.compose({ ageSeconds: target.limits.toleranceSeconds + 60 }),
  }),
  "timestamp.future": mustReject({
    title: "rejects a delivery from the future",
    sent: "a correctly signed delivery, one minute further in the future than the tolerance",
    fix: "Apply the tolerance in both directions: a delivery dated ahead stays replayable until then.",
    probes: (target) => target.compose({ ageSeconds: -target.limits.toleranceSeconds - 60 }),
  }),
  "timestamp.within-tolerance": shouldAcknowledge({
    title: "accepts a delivery within the tolerance on either side",
    sent: "deliveries 30 s short of the tolerance in the past and in the future",
    fix: "Allow for different clocks and slow networks: 300 s in each direction is customary. Keep the clock synchronized.",
    probes(target) {
      const edge = Math.max(0, target.limits.toleranceSeconds - 30);
      return labelled({ past: edge, future: -edge }, (ageSeconds) => target.compose({ ageSeconds }));
    },
  }),
  "timestamp.missing": mustReject({
    title: "rejects a delivery without a timestamp",
    sent: "a delivery without webhook-timestamp, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400.",
    probes: (target) => withoutHeader(target, "timestamp"),
  }),
  "timestamp.trailing-letter": malformed({
    title: "rejects digits followed by something else",
    sent: "the current second followed by an `x`, and by a space and a zero",
    forms: { "123x": (seconds) => `${seconds}x`, "123 0": (seconds) => `${seconds} 0` },
  }),
  "timestamp.leading-space": malformed({
    title: "rejects white space before the digits",
    sent: "the current second after a no-break space (HTTP drops a plain space)",
    forms: { " 123": (seconds) => `\u00a0${seconds}` },
  }),
  "timestamp.plus-sign": malformed({
    title: "rejects a plus sign before the digits",
    sent: "the current second after a `+`",
    forms: { "+123": (seconds) => `+${seconds}` },
  }),
  "timestamp.leading-zeros": malformed({
    title: "rejects leading zeros",
    sent: "the current second after two zeros",
    forms: { "00123": (seconds) => `00${seconds}` },
  }),
  "timestamp.milliseconds": malformed({
    title: "rejects a timestamp in milliseconds",
    sent: "the current time in milliseconds",
    fix: "The header is in whole seconds. Guessing the unit from the size widens the tolerance.",
    forms: { milliseconds: (seconds) => `${seconds}000` },
  }),
  "timestamp.iso": malformed({
    title: "rejects an ISO 8601 date",
    sent: "the current time as an ISO 8601 text",
    forms: { iso: (seconds) => new Date(seconds * 1000).toISOString() },
  }),
  "timestamp.negative": malformed({
    title: "rejects a negative timestamp",
    sent: "the current second after a minus sign",
    forms: { "-123": (seconds) => `-${seconds}` },
  }),
  "timestamp.not-a-number": malformed({
    title: "rejects a timestamp that is not a number",
    sent: "`abc`, `NaN` and `Infinity`, each signed unchanged",
    fix: `${digitsOnly} A comparison with NaN is always false, so an inverted age check accepts it.`,
    forms: { abc: () => "abc", NaN: () => "NaN", Infinity: () => "Infinity" },
  }),
  "timestamp.other-notation": malformed({
    title: "rejects other notations of the correct number",
    sent: "the current second as a fraction, in exponent notation, and in hexadecimal",
    forms: {
      fraction: (seconds) => `${seconds}.0`,
      exponent: (seconds) => `${seconds}e0`,
      hexadecimal: (seconds) => `0x${seconds.toString(16)}`,
    },
  }),
  "timestamp.too-long": malformed({
    title: "rejects a number too large to be a time",
    sent: "twenty nines",
    forms: { "twenty digits": () => "9".repeat(20) },
  }),
};
