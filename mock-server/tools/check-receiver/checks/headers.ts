import { type Delivery, type HeaderLine, sign, signedHeaders } from "../target/target.ts";
import * as probe from "./probe-check.ts";

// A server may close the connection on headers that are too large.
const shouldHandleOrClose = probe.probeCheck(
  "SHOULD",
  "2xx, or 431 (or another 4xx), in time",
  (result) => probe.isHandled(result) || result.kind === "closed",
);

/** Two ids, signed for the id that `choose` makes of them. */
const twoIds =
  (choose: (first: string, second: string) => string): probe.Change =>
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
  (combine: (current: string, old: string) => string): probe.Change =>
  (delivery, { oldSecret = "" }) => ({
    signature: combine(delivery.signature, sign(delivery, oldSecret)),
  });

export const headerChecks: probe.CheckTable = {
  "headers.id-missing": probe.mustReject({
    title: "rejects a delivery without an id",
    sent: "a delivery without webhook-id, and one where it is empty, signed over nothing in its place",
    fix: "Reject a request that lacks any of the three headers with 400; without an id nothing can be deduplicated.",
    change: probe.missingHeader("id"),
  }),
  "headers.repeated": probe.shouldReject({
    title: "rejects a repeated header",
    sent: "deliveries with two ids, with two timestamps, and with two signature headers of which one is correct",
    fix: "Require each of the three headers exactly once. Frameworks join repeated headers or keep one of them, and a proxy in front may keep another.",
    change: {
      "signed for the first id": twoIds((first) => first),
      "signed for the second id": twoIds((_, second) => second),
      "signed for both ids": twoIds((first, second) => `${first}, ${second}`),
      "the second timestamp is an hour ahead": ({ timestamp }) => ({
        extraHeaders: [["webhook-timestamp", String(Number(timestamp) + 3600)]],
      }),
      "the first signature is correct": (delivery, { signForged }) => ({
        extraHeaders: [["webhook-signature", signForged(delivery)]],
      }),
      "the second signature is correct": (delivery, { signForged }) => ({
        signature: signForged(delivery),
        extraHeaders: [["webhook-signature", delivery.signature]],
      }),
    },
  }),
  "headers.many-signatures": probe.shouldReject({
    title: "rejects a list of signatures that never ends",
    sent: "a delivery with 10 KB of signatures, of which the last is correct",
    fix: "Limit the length of the header (8 KB is plenty: the service signs with every secret in its grace): a caller decides how much work the list makes.",
    change: { "10 KB": probe.listed(`${"x".repeat(210)}o`) },
  }),
  "headers.odd-id": probe.shouldHandle({
    title: "handles long ids and unusual characters in an id",
    sent: "correctly signed deliveries whose ids have 4000 more characters, a quote, spaces, braces, dots, and a byte outside ASCII",
    fix: "Reject ids outside `[A-Za-z0-9._:~-]` or longer than your column (255 is plenty) with 400, and pass ids to the database as parameters only.",
    // Headers are sent in latin1; the signed bytes are UTF-8, as most servers decode a header.
    change: probe.each(
      [
        "x".repeat(4000),
        "'; DROP TABLE inbox; --",
        "a b",
        '{"a":1}',
        "a.b..c",
        "../../etc/passwd",
        "%00",
        "é",
      ],
      (odd) =>
        ({ id }, { compose }) =>
          compose({ id: id + odd }),
      (odd) => JSON.stringify(odd.slice(0, 32)),
    ),
  }),
  "headers.other-case": probe.mustAcknowledge({
    title: "accepts the headers in any case",
    sent: "deliveries whose header names are all capitals, and capitalized",
    fix: "Header names are case-insensitive; some proxies rewrite their case.",
    change: {
      capitals: () => ({ rename: (name) => name.toUpperCase() }),
      capitalized: () => ({ rename: (name) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase()) }),
    },
  }),
  "headers.other-family-bad": probe.shouldAcknowledge({
    title: "ignores wrong headers of another family",
    sent: "a valid delivery that also has svix-id, svix-timestamp and svix-signature with wrong values",
    fix: "Read one family of headers only: with two, a caller chooses which one counts.",
    change: () => svixHeaders({ id: "other", timestamp: "1", signature: "v1,AAAA" }),
  }),
  "headers.other-family-right": probe.shouldReject({
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
  "rotation.one-of-list": probe.mustAcknowledge({
    title: "accepts a list of signatures of which one is correct",
    sent: "deliveries with a wrong signature before, behind, and ten before the correct one, and with tokens of other versions before it",
    fix: `${everyToken} Several rotations within one grace period make the list longer than two, and new versions may be added to it.`,
    change: {
      "the second of two": probe.listed("xo"),
      "the first of two": probe.listed("ox"),
      "the last of eleven": probe.listed("xxxxxxxxxxo"),
      "behind v1a and v9": ({ signature }) => ({
        signature: `v1a,${Buffer.alloc(64, 7).toString("base64")} v9,AAAA ${signature}`,
      }),
    },
  }),
  "rotation.all-wrong": probe.mustReject({
    title: "rejects a list without a correct signature",
    sent: "a delivery with three signatures by keys the receiver does not have",
    fix: "Having several signatures proves nothing; one of them must match.",
    change: probe.listed("xxx"),
  }),
  "rotation.old-secret": probe.mustAcknowledge({
    needs: "oldSecret",
    title: "accepts the old secret during the grace period",
    sent: "deliveries signed with the secret given as --old-secret only, and with both secrets in both orders",
    fix: `${everyToken} Keep the old secret beside the new one until the grace period (a day by default) is over.`,
    change: {
      "old only": signedByOld((_, old) => old),
      "new first": signedByOld((current, old) => `${current} ${old}`),
      "old first": signedByOld((current, old) => `${old} ${current}`),
    },
  }),
};

const ofType = (contentType: string) => () => ({ contentType });
const anyType =
  "Read the raw body for every content type: the signature covers the bytes, not the header. With express.raw that is `type: () => true`.";
const charsets = ["application/json; charset=utf-8", "application/json;charset=UTF-8"];
const otherTypes = [
  "Application/JSON",
  "APPLICATION/JSON",
  "application/cloudevents+json",
  "text/json",
  "text/plain",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  ";;;=",
];
const listOf = (types: readonly string[]) => types.map((type) => `\`${type}\``).join(", ");

export const contentTypeChecks: probe.CheckTable = {
  "content-type.charset": probe.mustAcknowledge({
    title: "accepts application/json with a charset",
    sent: `deliveries as ${listOf(charsets)}`,
    fix: anyType,
    change: probe.each(charsets, ofType),
  }),
  "content-type.other": probe.shouldAcknowledge({
    title: "accepts a delivery with another content type, or without one",
    sent: `deliveries as ${listOf(otherTypes)}, and without the header content-type`,
    fix: anyType,
    change: { ...probe.each(otherTypes, ofType), none: () => ({ contentType: undefined }) },
  }),
};

export const methodChecks: probe.CheckTable = {
  "methods.other": probe.shouldReject({
    title: "rejects other methods than POST",
    unverified: undefined,
    sent: "a GET without a body, and correctly signed deliveries as PUT, PATCH and DELETE",
    expected: "405 (or another 4xx)",
    fix: "Route POST only; respond to other methods with 405 and `Allow: POST`.",
    change: {
      GET: () => ({ method: "GET", without: signedHeaders, body: Buffer.alloc(0) }),
      ...probe.each(["PUT", "PATCH", "DELETE"], (method) => () => ({ method })),
    },
  }),
};
