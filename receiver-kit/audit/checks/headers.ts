import type { ProbeResult } from "../target/connection.ts";
import type { HeaderLine } from "../target/signing.ts";
import type { CheckTable } from "./check.ts";
import {
  isHandled,
  labelled,
  listed,
  mustAcknowledge,
  mustReject,
  probeCheck,
  shouldAcknowledge,
  shouldHandle,
  shouldReject,
  withoutHeader,
} from "./probe-check.ts";

// A server may close the connection on headers that are too large.
const isHandledOrClosed = (result: ProbeResult) => isHandled(result) || result.kind === "closed";

const oneOfEach =
  "Require each of the three headers exactly once. Frameworks join repeated headers or keep one of them, and a proxy in front may keep another.";

const svixHeaders = (id: string, timestamp: string, signature: string): readonly HeaderLine[] => [
  ["svix-id", id],
  ["svix-timestamp", timestamp],
  ["svix-signature", signature],
];

export const headerChecks: CheckTable = {
  "headers.id-missing": mustReject({
    title: "rejects a delivery without an id",
    sent: "a delivery without webhook-id, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400; without an id nothing can be deduplicated.",
    probes: (target) => withoutHeader(target, "id"),
  }),
  "headers.id-repeated": shouldReject({
    title: "rejects two ids",
    sent: "deliveries with two webhook-id headers, signed for the first, the second, or both joined",
    fix: oneOfEach,
    probes(target) {
      const [first, second] = [target.nextId(), target.nextId()];
      const signedIds = {
        "signed for the first": first,
        "signed for the second": second,
        "signed for both": `${first}, ${second}`,
      };
      return labelled(signedIds, (id) => {
        const delivery = target.compose({ id });
        const others = target.signing.headers(delivery).filter(([name]) => name !== "webhook-id");
        return { delivery, options: { headers: [["webhook-id", first], ["webhook-id", second], ...others] } };
      });
    },
  }),
  "headers.timestamp-repeated": shouldReject({
    title: "rejects two timestamps",
    sent: "a signed delivery with webhook-timestamp twice, of which the second is an hour ahead",
    fix: oneOfEach,
    probes(target) {
      const delivery = target.compose();
      const ahead = String(Number(delivery.timestamp) + 3600);
      return { delivery, options: { extraHeaders: [["webhook-timestamp", ahead]] } };
    },
  }),
  "headers.signature-repeated": shouldReject({
    title: "rejects two signature headers",
    sent: "deliveries with webhook-signature twice, of which one is correct: the first, then the second",
    fix: oneOfEach,
    probes: (target) =>
      labelled({ "the first is correct": false, "the second is correct": true }, (isReversed) => {
        const delivery = target.compose();
        const signatures = [delivery.signature, target.signForged(delivery)];
        const [signature = "", extra = ""] = isReversed ? signatures.toReversed() : signatures;
        const options = { extraHeaders: [["webhook-signature", extra]] } as const;
        return { delivery: { ...delivery, signature }, options };
      }),
  }),
  "headers.seventeen-signatures": shouldReject({
    title: "rejects more signatures than any rotation produces",
    sent: "a delivery with seventeen signatures, of which the last is correct",
    fix: "Limit the number of signatures (16 is plenty): a caller decides how much work the list makes.",
    probes: (target) => listed(target, `${"x".repeat(16)}o`),
  }),
  "headers.huge-signature": shouldReject({
    title: "rejects a signature header of 10 KB",
    sent: "a delivery with 10 KB of wrong signatures, of which the last is correct",
    fix: "Limit the length of webhook-signature (4 KB is plenty) and respond 400.",
    probes: (target) => listed(target, `${"x".repeat(210)}o`),
  }),
  "headers.huge-id": shouldHandle({
    title: "handles an id of 4 KB",
    sent: "a correctly signed delivery with a webhook-id of 4000 characters",
    fix: "Reject ids longer than your column (255 is plenty) with 400 instead of failing at the insert.",
    probes: (target) => target.compose({ id: `${target.nextId()}${"x".repeat(4000)}` }),
  }),
  "headers.odd-id": shouldHandle({
    title: "handles unusual characters in an id",
    sent: "correctly signed deliveries whose ids contain a quote, spaces, braces, dots, and a byte outside ASCII",
    fix: "Reject ids outside `[A-Za-z0-9._:~-]` with 400, and pass ids to the database as parameters only.",
    probes: (target) =>
      ["'; DROP TABLE inbox; --", "a b", '{"a":1}', "a.b..c", "../../etc/passwd", "%00", "é"].map(
        // Headers are sent in latin1; the signed bytes are UTF-8, as most servers decode a header.
        (odd) => ({
          label: JSON.stringify(odd),
          delivery: target.compose({ id: `${target.nextId()}${odd}` }),
        }),
      ),
  }),
  "headers.other-case": mustAcknowledge({
    title: "accepts the headers in any case",
    sent: "deliveries whose header names are all capitals, and capitalized",
    fix: "Header names are case-insensitive; some proxies rewrite their case.",
    probes(target) {
      const spellings = {
        capitals: (name: string) => name.toUpperCase(),
        capitalized: (name: string) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase()),
      };
      return labelled(spellings, (spell) => {
        const delivery = target.compose();
        const headers = target.signing
          .headers(delivery)
          .map(([name, value]): HeaderLine => [spell(name), value]);
        return { delivery, options: { headers } };
      });
    },
  }),
  "headers.other-family-bad": shouldAcknowledge({
    title: "ignores wrong headers of another family",
    sent: "a valid delivery that also has svix-id, svix-timestamp and svix-signature with wrong values",
    fix: "Read one family of headers only: with two, a caller chooses which one counts.",
    probes: (target) => ({
      delivery: target.compose(),
      options: { extraHeaders: svixHeaders("other", "1", "v1,AAAA") },
    }),
  }),
  "headers.other-family-right": shouldReject({
    title: "does not accept proof from headers of another family",
    sent: "a forged delivery that also has the correct values as svix-id, svix-timestamp and svix-signature",
    fix: "Read one family of headers only; deduplicate by the id that was verified, not by the other one.",
    probes(target) {
      const delivery = target.compose();
      const { id, timestamp, signature } = delivery;
      return {
        delivery: { ...delivery, id: target.nextId(), signature: target.signForged(delivery) },
        options: { extraHeaders: svixHeaders(id, timestamp, signature) },
      };
    },
  }),
  "headers.too-large": probeCheck(
    "SHOULD",
    "2xx, or 431 (or another 4xx), in time",
    isHandledOrClosed,
  )({
    title: "handles 64 KB of headers",
    sent: "a valid delivery with an extra header of 64 KB",
    fix: "Limit the size of request headers in the server or the proxy in front of it.",
    probes: (target) => ({
      delivery: target.compose(),
      options: { extraHeaders: [["x-audit", "x".repeat(64 * 1024)]] },
    }),
  }),
};
