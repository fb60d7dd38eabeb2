import type { HeaderLine } from "../target/scheme.ts";
import type { AuditCheck } from "./check.ts";
import { acknowledgedCheck, handledCheck, refusedCheck } from "./probe-check.ts";

const schemes = ["standard-webhooks"] as const;
const oneOfEach =
  "Require each of the three headers exactly once. Frameworks join repeated headers or keep one of them, and a proxy in front may keep another.";

export const headerChecks: readonly AuditCheck[] = [
  refusedCheck({
    id: "headers.id-missing",
    requirement: "MUST",
    title: "refuses a delivery without an id",
    schemes,
    sent: "a delivery without webhook-id, and one where it is empty, signed over nothing in its place",
    mend: "Refuse a request that lacks any of the three headers with 400; without an id nothing can be deduplicated.",
    shots: (target) => {
      const composed = target.compose();
      const delivery = { ...composed, id: "", signature: target.sign({ ...composed, id: "" }) };
      const headers = target.scheme.headers(delivery);
      return [
        { label: "absent", delivery, options: { headers: headers.filter(([, value]) => value !== "") } },
        { label: "empty", delivery },
      ];
    },
  }),
  refusedCheck({
    id: "headers.id-repeated",
    requirement: "SHOULD",
    title: "refuses two ids",
    schemes,
    sent: "deliveries with two webhook-id headers, signed for the first, the second, or both joined",
    mend: oneOfEach,
    shots: (target) => {
      const [first, second] = [target.nextId(), target.nextId()];
      return [first, second, `${first}, ${second}`].map((id, index) => {
        const delivery = target.compose({ id });
        const lines = target.scheme.headers(delivery).filter(([name]) => name !== "webhook-id");
        const ids: readonly HeaderLine[] = [
          ["webhook-id", first],
          ["webhook-id", second],
        ];
        const label = ["signed for the first", "signed for the second", "signed for both"][index] ?? "";
        return { label, delivery, options: { headers: [...ids, ...lines] } };
      });
    },
  }),
  refusedCheck({
    id: "headers.timestamp-repeated",
    requirement: "SHOULD",
    title: "refuses two timestamps",
    schemes,
    sent: "a signed delivery with webhook-timestamp twice, of which the second is an hour ahead",
    mend: oneOfEach,
    shots: (target) => {
      const delivery = target.compose();
      const ahead = String(Number(delivery.timestamp) + 3600);
      return [{ delivery, options: { extraHeaders: [["webhook-timestamp", ahead]] } }];
    },
  }),
  refusedCheck({
    id: "headers.signature-repeated",
    requirement: "SHOULD",
    title: "refuses two signature headers",
    schemes,
    sent: "deliveries with webhook-signature twice, of which one is right: the first, then the second",
    mend: oneOfEach,
    shots: (target) => {
      const [first, second] = [target.compose(), target.compose()];
      return [
        {
          label: "the first is right",
          delivery: first,
          options: { extraHeaders: [["webhook-signature", target.signForged(first)]] },
        },
        {
          label: "the second is right",
          delivery: { ...second, signature: target.signForged(second) },
          options: { extraHeaders: [["webhook-signature", second.signature]] },
        },
      ];
    },
  }),
  refusedCheck({
    id: "headers.seventeen-signatures",
    requirement: "SHOULD",
    title: "refuses more signatures than any rotation makes",
    schemes,
    sent: "a delivery with seventeen signatures, of which the last is right",
    mend: "Put a limit on the number of signatures (16 is plenty): a caller decides how much work the list makes.",
    shots: (target) => {
      const delivery = target.compose();
      const wrong = Array.from({ length: 16 }, () => target.signForged(delivery));
      return [{ delivery: { ...delivery, signature: [...wrong, delivery.signature].join(" ") } }];
    },
  }),
  refusedCheck({
    id: "headers.huge-signature",
    requirement: "SHOULD",
    title: "refuses a signature header of 10 KB",
    schemes,
    sent: "a delivery with 10 KB of wrong signatures, of which the last is right",
    mend: "Put a limit on the length of webhook-signature (4 KB is plenty) and answer 400.",
    shots: (target) => {
      const delivery = target.compose();
      const wrong = Array.from({ length: 210 }, () => target.signForged(delivery));
      return [{ delivery: { ...delivery, signature: [...wrong, delivery.signature].join(" ") } }];
    },
  }),
  handledCheck({
    id: "headers.huge-id",
    requirement: "SHOULD",
    title: "copes with an id of 4 KB",
    schemes,
    sent: "a rightly signed delivery with a webhook-id of 4000 characters",
    mend: "Refuse ids longer than your column (255 is plenty) with 400 instead of failing at the insert.",
    shots: (target) => [{ delivery: target.compose({ id: `${target.nextId()}${"x".repeat(4000)}` }) }],
  }),
  handledCheck({
    id: "headers.odd-id",
    requirement: "SHOULD",
    title: "copes with odd characters in an id",
    schemes,
    sent: "rightly signed deliveries whose ids hold a quote, spaces, braces, dots, and a byte outside ASCII",
    mend: "Refuse ids outside `[A-Za-z0-9._:~-]` with 400, and pass ids to the database as parameters only.",
    shots: (target) =>
      ["'; DROP TABLE inbox; --", "a b", '{"a":1}', "a.b..c", "../../etc/passwd", "%00", "é"].map((odd) => {
        const id = `${target.nextId()}${odd}`;
        // The wire carries latin1; what is signed are those bytes, read as the text most servers make of them.
        return { label: JSON.stringify(odd), delivery: target.compose({ id }) };
      }),
  }),
  acknowledgedCheck({
    id: "headers.other-case",
    requirement: "MUST",
    title: "finds the headers in whatever case they come",
    sent: "deliveries whose header names are all capitals, and capitalised",
    mend: "Header names are case-insensitive; some proxies rewrite their case.",
    shots: (target) =>
      [
        { label: "capitals", spell: (name: string) => name.toUpperCase() },
        {
          label: "capitalised",
          spell: (name: string) => name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase()),
        },
      ].map(({ label, spell }) => {
        const delivery = target.compose();
        const headers = target.scheme
          .headers(delivery)
          .map(([name, value]): HeaderLine => [spell(name), value]);
        return { label, delivery, options: { headers } };
      }),
  }),
  acknowledgedCheck({
    id: "headers.other-family-bad",
    requirement: "SHOULD",
    title: "is not led astray by headers of another family",
    schemes,
    sent: "a right delivery that also carries svix-id, svix-timestamp and svix-signature with wrong values",
    mend: "Read one family of headers only: with two, a caller chooses which one counts.",
    shots: (target) => [
      {
        delivery: target.compose(),
        options: {
          extraHeaders: [
            ["svix-id", "other"],
            ["svix-timestamp", "1"],
            ["svix-signature", "v1,AAAA"],
          ],
        },
      },
    ],
  }),
  refusedCheck({
    id: "headers.other-family-right",
    requirement: "SHOULD",
    title: "does not accept proof from headers of another family",
    schemes,
    sent: "a forged delivery that also carries the right values as svix-id, svix-timestamp and svix-signature",
    mend: "Read one family of headers only; deduplicate by the id that was verified, not by the other one.",
    shots: (target) => {
      const delivery = target.compose();
      const { id, timestamp, signature } = delivery;
      return [
        {
          delivery: { ...delivery, id: target.nextId(), signature: target.signForged(delivery) },
          options: {
            extraHeaders: [
              ["svix-id", id],
              ["svix-timestamp", timestamp],
              ["svix-signature", signature],
            ],
          },
        },
      ];
    },
  }),
  handledCheck({
    id: "headers.too-large",
    requirement: "SHOULD",
    title: "copes with 64 KB of headers",
    sent: "a right delivery with an extra header of 64 KB",
    expected: "2xx, or 431 (or another 4xx), in time",
    mayClose: true,
    mend: "Limit the size of request headers in the server or the proxy in front of it.",
    shots: (target) => [
      { delivery: target.compose(), options: { extraHeaders: [["x-audit", "x".repeat(64 * 1024)]] } },
    ],
  }),
];
