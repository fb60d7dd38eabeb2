import type { Delivery, HeaderLine } from "../target/signing.ts";
import type { CheckTable } from "./check.ts";
import {
  type Change,
  each,
  isHandled,
  listed,
  missingHeader,
  mustAcknowledge,
  mustReject,
  probeCheck,
  shouldAcknowledge,
  shouldHandle,
  shouldReject,
} from "./probe-check.ts";

// A server may close the connection on headers that are too large.
const shouldHandleOrClose = probeCheck(
  "SHOULD",
  "2xx, or 431 (or another 4xx), in time",
  (result) => isHandled(result) || result.kind === "closed",
);

const oneOfEach =
  "Require each of the three headers exactly once. Frameworks join repeated headers or keep one of them, and a proxy in front may keep another.";

/** Two ids, signed for the id that `choose` makes of them. */
const twoIds =
  (choose: (first: string, second: string) => string): Change =>
  (_, { nextId, compose }) => {
    const ids = [nextId(), nextId()] as const;
    const extraHeaders = ids.map((id): HeaderLine => ["webhook-id", id]);
    return { ...compose({ id: choose(...ids) }), without: ["id"], extraHeaders };
  };

const svixHeaders = ({ id, timestamp, signature }: Pick<Delivery, "id" | "timestamp" | "signature">) => ({
  extraHeaders: Object.entries({ "svix-id": id, "svix-timestamp": timestamp, "svix-signature": signature }),
});

const everyToken =
  "Split webhook-signature at spaces and accept when any `v1` token matches any active secret; during a rotation each delivery has one per secret.";

/** Signs with the old secret; `combine` puts the signatures together. */
const signedByOld =
  (combine: (current: string, old: string) => string): Change =>
  (delivery, { signing, oldSecret = "" }) => ({
    signature: combine(delivery.signature, signing.sign(delivery, oldSecret)),
  });

export const headerChecks: CheckTable = {
  "headers.id-missing": mustReject({
    title: "rejects a delivery without an id",
    sent: "a delivery without webhook-id, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400; without an id nothing can be deduplicated.",
    change: missingHeader("id"),
  }),
  "headers.id-repeated": shouldReject({
    title: "rejects two ids",
    sent: "deliveries with two webhook-id headers, signed for the first, the second, or both joined",
    fix: oneOfEach,
    change: {
      "signed for the first": twoIds((first) => first),
      "signed for the second": twoIds((_, second) => second),
      "signed for both": twoIds((first, second) => `${first}, ${second}`),
    },
  }),
  "headers.timestamp-repeated": shouldReject({
    title: "rejects two timestamps",
    sent: "a signed delivery with webhook-timestamp twice, of which the second is an hour ahead",
    fix: oneOfEach,
    change: ({ timestamp }) => ({
      extraHeaders: [["webhook-timestamp", String(Number(timestamp) + 3600)]],
    }),
  }),
  "headers.signature-repeated": shouldReject({
    title: "rejects two signature headers",
    sent: "deliveries with webhook-signature twice, of which one is correct: the first, then the second",
    fix: oneOfEach,
    change: {
      "the first is correct": (delivery, { signForged }) => ({
        extraHeaders: [["webhook-signature", signForged(delivery)]],
      }),
      "the second is correct": (delivery, { signForged }) => ({
        signature: signForged(delivery),
        extraHeaders: [["webhook-signature", delivery.signature]],
      }),
    },
  }),
  "headers.seventeen-signatures": shouldReject({
    title: "rejects more signatures than any rotation produces",
    sent: "a delivery with seventeen signatures, of which the last is correct",
    fix: "Limit the number of signatures (16 is plenty): a caller decides how much work the list makes.",
    change: listed(`${"x".repeat(16)}o`),
  }),
  "headers.huge-signature": shouldReject({
    title: "rejects a signature header of 10 KB",
    sent: "a delivery with 10 KB of wrong signatures, of which the last is correct",
    fix: "Limit the length of webhook-signature (4 KB is plenty) and respond 400.",
    change: listed(`${"x".repeat(210)}o`),
  }),
  "headers.huge-id": shouldHandle({
    title: "handles an id of 4 KB",
    sent: "a correctly signed delivery with a webhook-id of 4000 characters",
    fix: "Reject ids longer than your column (255 is plenty) with 400 instead of failing at the insert.",
    change: ({ id }, { compose }) => compose({ id: id + "x".repeat(4000) }),
  }),
  "headers.odd-id": shouldHandle({
    title: "handles unusual characters in an id",
    sent: "correctly signed deliveries whose ids contain a quote, spaces, braces, dots, and a byte outside ASCII",
    fix: "Reject ids outside `[A-Za-z0-9._:~-]` with 400, and pass ids to the database as parameters only.",
    // Headers are sent in latin1; the signed bytes are UTF-8, as most servers decode a header.
    change: each(
      ["'; DROP TABLE inbox; --", "a b", '{"a":1}', "a.b..c", "../../etc/passwd", "%00", "é"],
      (odd) =>
        ({ id }, { compose }) =>
          compose({ id: id + odd }),
      JSON.stringify,
    ),
  }),
  "headers.other-case": mustAcknowledge({
    title: "accepts the headers in any case",
    sent: "deliveries whose header names are all capitals, and capitalized",
    fix: "Header names are case-insensitive; some proxies rewrite their case.",
    change: {
      capitals: () => ({ rename: (name) => name.toUpperCase() }),
      capitalized: () => ({ rename: (name) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase()) }),
    },
  }),
  "headers.other-family-bad": shouldAcknowledge({
    title: "ignores wrong headers of another family",
    sent: "a valid delivery that also has svix-id, svix-timestamp and svix-signature with wrong values",
    fix: "Read one family of headers only: with two, a caller chooses which one counts.",
    change: () => svixHeaders({ id: "other", timestamp: "1", signature: "v1,AAAA" }),
  }),
  "headers.other-family-right": shouldReject({
    title: "does not accept proof from headers of another family",
    sent: "a forged delivery that also has the correct values as svix-id, svix-timestamp and svix-signature",
    fix: "Read one family of headers only; deduplicate by the id that was verified, not by the other one.",
    change: (delivery, { nextId, signForged }) => ({
      id: nextId(),
      signature: signForged(delivery),
      ...svixHeaders(delivery),
    }),
  }),
  "headers.too-large": shouldHandleOrClose({
    title: "handles 64 KB of headers",
    sent: "a valid delivery with an extra header of 64 KB",
    fix: "Limit the size of request headers in the server or the proxy in front of it.",
    change: () => ({ extraHeaders: [["x-audit", "x".repeat(64 * 1024)]] }),
  }),
  "rotation.second-of-list": mustAcknowledge({
    title: "accepts a list whose second signature is correct",
    sent: "a delivery with two signatures, the first by a key the receiver does not have",
    fix: everyToken,
    change: listed("xo"),
  }),
  "rotation.first-of-list": mustAcknowledge({
    title: "accepts a list whose first signature is correct",
    sent: "a delivery with two signatures, the second by a key the receiver does not have",
    fix: everyToken,
    change: listed("ox"),
  }),
  "rotation.ten-wrong-then-right": mustAcknowledge({
    title: "accepts a correct signature after ten wrong ones",
    sent: "a delivery with eleven signatures, of which the last is correct",
    fix: `${everyToken} Several rotations within one grace period make the list longer than two.`,
    change: listed("xxxxxxxxxxo"),
  }),
  "rotation.unknown-version-beside": mustAcknowledge({
    title: "ignores signatures of other versions beside a correct one",
    sent: "a delivery with a v1a and a v9 token in front of the correct v1 token",
    fix: "Skip tokens of a version you do not know; the list is how new versions are introduced.",
    change: ({ signature }) => ({
      signature: `v1a,${Buffer.alloc(64, 7).toString("base64")} v9,AAAA ${signature}`,
    }),
  }),
  "rotation.all-wrong": mustReject({
    title: "rejects a list without a correct signature",
    sent: "a delivery with three signatures by keys the receiver does not have",
    fix: "Having several signatures proves nothing; one of them must match.",
    change: listed("xxx"),
  }),
  "rotation.old-secret": mustAcknowledge({
    needs: "oldSecret",
    title: "accepts the old secret during the grace period",
    sent: "a delivery signed with the secret given as --old-secret only",
    fix: "Keep the old secret beside the new one until the grace period (a day by default) is over.",
    change: signedByOld((_, old) => old),
  }),
  "rotation.both-secrets": mustAcknowledge({
    needs: "oldSecret",
    title: "accepts deliveries signed with both secrets",
    sent: "deliveries with a signature by each secret, in both orders",
    fix: everyToken,
    change: {
      "new first": signedByOld((current, old) => `${current} ${old}`),
      "old first": signedByOld((current, old) => `${old} ${current}`),
    },
  }),
};
