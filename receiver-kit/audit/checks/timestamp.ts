import type { CheckTable } from "./check.ts";
import {
  type Change,
  missingHeader,
  mustReject,
  type ProbeCheck,
  shouldAcknowledge,
  shouldReject,
} from "./probe-check.ts";

const digitsOnly =
  "Check the header's text against `^[1-9][0-9]{0,11}$` before converting it to a number; lenient number parsers accept far more.";

/** Sends a delivery signed this long ago, in tolerances and seconds. */
const aged =
  (tolerances: -1 | 1, moreSeconds: number): Change =>
  (_, { compose, toleranceSeconds }) =>
    compose({ ageSeconds: tolerances * Math.max(0, toleranceSeconds + moreSeconds) });

/**
 * The time in a malformed form, with two signatures: over the text of the header, and over the number that a lenient
 * parser makes of it. A receiver that uses either reading accepts it.
 */
const written =
  (write: (seconds: string) => string): Change =>
  (delivery, { sign }) => {
    const timestamp = write(delivery.timestamp);
    const readings = [timestamp, String(Number.parseInt(timestamp, 10))];
    return { timestamp, signature: readings.map((each) => sign({ ...delivery, timestamp: each })).join(" ") };
  };

const malformed = (check: Omit<ProbeCheck, "fix"> & { readonly fix?: string }) =>
  shouldReject({ fix: digitsOnly, ...check });

export const timestampChecks: CheckTable = {
  "timestamp.stale": mustReject({
    title: "rejects a delivery that is older than the tolerance",
    sent: "a correctly signed delivery, one minute older than the tolerance, like a replayed capture",
    fix: "Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past.",
    change: aged(1, 60),
  }),
  "timestamp.future": mustReject({
    title: "rejects a delivery from the future",
    sent: "a correctly signed delivery, one minute further in the future than the tolerance",
    fix: "Apply the tolerance in both directions: a delivery dated ahead stays replayable until then.",
    change: aged(-1, 60),
  }),
  "timestamp.within-tolerance": shouldAcknowledge({
    title: "accepts a delivery within the tolerance on either side",
    sent: "deliveries 30 s short of the tolerance in the past and in the future",
    fix: "Allow for different clocks and slow networks: 300 s in each direction is customary. Keep the clock synchronized.",
    change: { past: aged(1, -30), future: aged(-1, -30) },
  }),
  "timestamp.missing": mustReject({
    title: "rejects a delivery without a timestamp",
    sent: "a delivery without webhook-timestamp, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400.",
    change: missingHeader("timestamp"),
  }),
  "timestamp.trailing-letter": malformed({
    title: "rejects digits followed by something else",
    sent: "the current second followed by an `x`, and by a space and a zero",
    change: { "123x": written((seconds) => `${seconds}x`), "123 0": written((seconds) => `${seconds} 0`) },
  }),
  "timestamp.leading-space": malformed({
    title: "rejects white space before the digits",
    sent: "the current second after a no-break space (HTTP drops a plain space)",
    change: { " 123": written((seconds) => `\u00a0${seconds}`) },
  }),
  "timestamp.plus-sign": malformed({
    title: "rejects a plus sign before the digits",
    sent: "the current second after a `+`",
    change: { "+123": written((seconds) => `+${seconds}`) },
  }),
  "timestamp.leading-zeros": malformed({
    title: "rejects leading zeros",
    sent: "the current second after two zeros",
    change: { "00123": written((seconds) => `00${seconds}`) },
  }),
  "timestamp.milliseconds": malformed({
    title: "rejects a timestamp in milliseconds",
    sent: "the current time in milliseconds",
    fix: "The header is in whole seconds. Guessing the unit from the size widens the tolerance.",
    change: { milliseconds: written((seconds) => `${seconds}000`) },
  }),
  "timestamp.iso": malformed({
    title: "rejects an ISO 8601 date",
    sent: "the current time as an ISO 8601 text",
    change: { iso: written((seconds) => new Date(Number(seconds) * 1000).toISOString()) },
  }),
  "timestamp.negative": malformed({
    title: "rejects a negative timestamp",
    sent: "the current second after a minus sign",
    change: { "-123": written((seconds) => `-${seconds}`) },
  }),
  "timestamp.not-a-number": malformed({
    title: "rejects a timestamp that is not a number",
    sent: "`abc`, `NaN` and `Infinity`, each signed unchanged",
    fix: `${digitsOnly} A comparison with NaN is always false, so an inverted age check accepts it.`,
    change: { abc: written(() => "abc"), NaN: written(() => "NaN"), Infinity: written(() => "Infinity") },
  }),
  "timestamp.other-notation": malformed({
    title: "rejects other notations of the correct number",
    sent: "the current second as a fraction, in exponent notation, and in hexadecimal",
    change: {
      fraction: written((seconds) => `${seconds}.0`),
      exponent: written((seconds) => `${seconds}e0`),
      hexadecimal: written((seconds) => `0x${Number(seconds).toString(16)}`),
    },
  }),
  "timestamp.too-long": malformed({
    title: "rejects a number too large to be a time",
    sent: "twenty nines",
    change: { "twenty digits": written(() => "9".repeat(20)) },
  }),
};
