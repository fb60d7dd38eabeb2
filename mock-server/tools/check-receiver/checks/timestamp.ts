import type { CheckTable } from "./check.ts";
import * as probe from "./probe-check.ts";

const digitsOnly =
  "Check the header's text against `^[1-9][0-9]{0,11}$` before converting it to a number; lenient number parsers accept far more.";

/** Sends a delivery signed this long ago, in tolerances and seconds. */
const aged =
  (tolerances: -1 | 1, moreSeconds: number): probe.Change =>
  (_, { compose, toleranceSeconds }) =>
    compose({ ageSeconds: tolerances * Math.max(0, toleranceSeconds + moreSeconds) });

/**
 * The time in a malformed form, with two signatures: over the text of the header, and over the number that a lenient
 * parser makes of it. A receiver that uses either reading accepts it.
 */
const written =
  (write: (seconds: string) => string): probe.Change =>
  (delivery, { sign }) => {
    const timestamp = write(delivery.timestamp);
    const readings = [timestamp, String(Number.parseInt(timestamp, 10))];
    return {
      timestamp,
      signature: readings.map((reading) => sign({ ...delivery, timestamp: reading })).join(" "),
    };
  };

export const timestampChecks: CheckTable = {
  "timestamp.stale": probe.mustReject({
    title: "rejects a delivery that is older than the tolerance",
    sent: "a correctly signed delivery, one minute older than the tolerance, like a replayed capture",
    fix: "Reject a webhook-timestamp that lies more than the tolerance (300 s is customary) in the past.",
    change: aged(1, 60),
  }),
  "timestamp.future": probe.mustReject({
    title: "rejects a delivery from the future",
    sent: "a correctly signed delivery, one minute further in the future than the tolerance",
    fix: "Apply the tolerance in both directions: a delivery dated ahead stays replayable until then.",
    change: aged(-1, 60),
  }),
  "timestamp.within-tolerance": probe.shouldAcknowledge({
    title: "accepts a delivery within the tolerance on either side",
    sent: "deliveries 30 s short of the tolerance in the past and in the future",
    fix: "Allow for different clocks and slow networks: 300 s in each direction is customary. Keep the clock synchronized.",
    change: { past: aged(1, -30), future: aged(-1, -30) },
  }),
  "timestamp.missing": probe.mustReject({
    title: "rejects a delivery without a timestamp",
    sent: "a delivery without webhook-timestamp, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400.",
    change: probe.missingHeader("timestamp"),
  }),
  "timestamp.malformed": probe.shouldReject({
    title: "rejects a timestamp that is not whole seconds in plain digits",
    sent: "the current second with something before or behind its digits, in milliseconds, as a date and in other notations, and no number",
    fix: `${digitsOnly} Guessing the unit from the size widens the tolerance, and a comparison with NaN is always false.`,
    change: {
      "trailing letter": written((seconds) => `${seconds}x`),
      "trailing digit": written((seconds) => `${seconds} 0`),
      // HTTP drops a plain space.
      "no-break space": written((seconds) => `\u00a0${seconds}`),
      "plus sign": written((seconds) => `+${seconds}`),
      "minus sign": written((seconds) => `-${seconds}`),
      "leading zeros": written((seconds) => `00${seconds}`),
      milliseconds: written((seconds) => `${seconds}000`),
      "ISO 8601": written((seconds) => new Date(Number(seconds) * 1000).toISOString()),
      fraction: written((seconds) => `${seconds}.0`),
      exponent: written((seconds) => `${seconds}e0`),
      hexadecimal: written((seconds) => `0x${Number(seconds).toString(16)}`),
      ...probe.each(["abc", "NaN", "Infinity", "9".repeat(20)], (text) => written(() => text)),
    },
  }),
};
