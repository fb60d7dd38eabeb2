import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Answer, Connection } from "../target/connection.ts";
import type { Delivery } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";
import { type AuditCheck, type Finding, failed, passed } from "./check.ts";
import { acknowledgedWithEffects } from "./effects.ts";
import {
  acknowledgedCheck,
  describeAnswer,
  isAcknowledged,
  isHandled,
  isRefused,
  refusedCheck,
} from "./probe-check.ts";

const compress = promisify(gzip);
const pieceBytes = 41;
const inflatedBombBytes = 32 * 1024 * 1024;

let bomb: Promise<Buffer> | undefined;

/** Made once: compressing takes longer than sending. */
function gzipBomb(): Promise<Buffer> {
  bomb ??= compress(Buffer.alloc(inflatedBombBytes, 0x20));
  return bomb;
}

type Turn = { readonly delivery: Delivery; readonly forged: boolean };

/** A true delivery, a forged one, a true one: what goes over one connection. */
function trueForgedTrue(target: Target, forgedBodyBytes: number): readonly Turn[] {
  const other = target.compose({ body: `{"filler":"${"x".repeat(forgedBodyBytes)}"}` });
  return [
    { delivery: target.compose(), forged: false },
    { delivery: { ...other, signature: target.signForged(other) }, forged: true },
    { delivery: target.compose(), forged: false },
  ];
}

/**
 * Judges answers that belong to `turns` in their order. A receiver may close the connection after any
 * answer; what it answers has to be the answer to that request.
 */
async function judgeTurns(
  target: Target,
  turns: readonly Turn[],
  next: (turn: Turn) => Promise<Answer>,
): Promise<Finding> {
  const seen: string[] = [];
  for (const turn of turns) {
    const answer = target.record(turn.delivery, await next(turn));
    seen.push(describeAnswer(answer));
    if (answer.kind === "closed" && seen.length > 1) return passed(seen.join(", "));
    const isRight = turn.forged ? isRefused(answer) : isAcknowledged(answer);
    if (!isRight) return failed(seen.join(", "));
    if (
      answer.kind === "answered" &&
      answer.headers.get("connection") === "close" &&
      seen.length < turns.length
    ) {
      return passed(`${seen.join(", ")}, then closed`);
    }
  }
  return passed(seen.join(", "));
}

async function withConnection<T>(target: Target, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = target.connect();
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** Sends the head and part of the body, ends our side, and expects anything but an acknowledgement. */
async function cutShort(
  target: Target,
  delivery: Delivery,
  contentLength: number,
  body: Buffer,
): Promise<Finding> {
  return withConnection(target, async (connection) => {
    await connection.write(target.request(delivery, { contentLength, wireBody: body, keepAlive: true }));
    connection.finish();
    const answer = target.record(delivery, await connection.answer(target.limits.timeoutMs));
    return (isRefused(answer) ? passed : failed)(describeAnswer(answer));
  });
}

export const transferChecks: readonly AuditCheck[] = [
  acknowledgedCheck({
    id: "transfer.chunked",
    requirement: "MUST",
    title: "accepts a body sent in chunks",
    sent: "a delivery with transfer-encoding: chunked and no content-length",
    mend: "Read the body to its end instead of reading content-length bytes; where the server cannot, put a proxy in front that can.",
    shots: (target) => [{ delivery: target.compose(), options: { chunked: true } }],
  }),
  {
    id: "transfer.in-pieces",
    requirement: "MUST",
    title: "accepts a request that arrives in small pieces",
    sent: "a delivery in pieces of 41 bytes, which split header names and characters of several bytes",
    expected: "2xx",
    mend: "Collect the pieces as bytes and decode once at the end; a decoded piece may end inside a character.",
    run(target) {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "税🧾".repeat(40) }) });
      const bytes = target.request(delivery);
      return withConnection(target, async (connection) => {
        for (let at = 0; at < bytes.length && !connection.ended; at += pieceBytes) {
          await connection.write(bytes.subarray(at, at + pieceBytes));
          await target.wait(1);
        }
        const answer = target.record(delivery, await connection.answer(target.limits.timeoutMs));
        return (isAcknowledged(answer) ? passed : failed)(describeAnswer(answer));
      });
    },
  },
  {
    id: "transfer.pipelined",
    requirement: "MUST",
    title: "answers requests sent back to back each on its own",
    sent: "a true, a forged and a true delivery in one write on one connection",
    expected: "2xx, 4xx, 2xx in this order; closing after any of them is fine",
    mend: "Keep nothing of one request for the next: no module-level body, id or result.",
    run(target) {
      const turns = trueForgedTrue(target, 10);
      return withConnection(target, async (connection) => {
        const requests = turns.map(({ delivery }) => target.request(delivery, { keepAlive: true }));
        void connection.write(Buffer.concat(requests));
        return judgeTurns(target, turns, () => connection.answer(target.limits.timeoutMs));
      });
    },
  },
  {
    id: "transfer.keep-alive",
    requirement: "MUST",
    title: "answers requests on a reused connection, also after a refused one",
    sent: "on one connection and in turn: a true delivery, a forged one of 64 KB, a true one",
    expected: "2xx, 4xx, 2xx; closing after any of them is fine",
    mend: "Read or discard the whole body of a refused request, or close its connection: the rest would be read as the next request.",
    run(target) {
      return withConnection(target, (connection) =>
        judgeTurns(target, trueForgedTrue(target, 64 * 1024), ({ delivery }) => {
          void connection.write(target.request(delivery, { keepAlive: true }));
          return connection.answer(target.limits.timeoutMs);
        }),
      );
    },
  },
  {
    id: "transfer.truncated",
    requirement: "MUST",
    title: "refuses a body that ends too early",
    sent: "a delivery whose connection ends in the middle of the announced body",
    expected: "a 4xx answer, or a closed connection",
    mend: "Treat an aborted request as not received: listen for its end or error, and verify only complete bodies.",
    run(target) {
      const delivery = target.compose();
      const half = delivery.body.subarray(0, delivery.body.length / 2);
      return cutShort(target, delivery, delivery.body.length, half);
    },
  },
  {
    id: "transfer.content-length-too-high",
    requirement: "SHOULD",
    title: "refuses a body shorter than announced",
    sent: "a complete signed body announced as 64 bytes longer, then the end of the connection",
    expected: "a 4xx answer, or a closed connection",
    mend: "Compare what was read with content-length: a short read means that the request is incomplete.",
    run(target) {
      const delivery = target.compose();
      return cutShort(target, delivery, delivery.body.length + 64, delivery.body);
    },
  },
  {
    id: "transfer.aborted-then-retried",
    requirement: "MUST",
    stage: "alone",
    title: "takes a delivery whose first attempt broke off",
    sent: "most of a delivery and a broken connection, then the whole of it",
    expected: "2xx and one effect for the second attempt",
    mend: "Record an id only once its whole body is verified, so that a broken attempt does not make the next a duplicate.",
    async run(target) {
      const delivery = target.compose();
      const bytes = target.request(delivery);
      await withConnection(target, (connection) => connection.write(bytes.subarray(0, bytes.length - 100)));
      return acknowledgedWithEffects(target, [delivery.id], async () => [await target.send(delivery)]);
    },
  },
  refusedCheck({
    id: "transfer.length-and-chunked",
    requirement: "SHOULD",
    title: "refuses a request with two lengths",
    sent: "a delivery with both transfer-encoding: chunked and a content-length",
    mend: "Use a server that refuses both together: a proxy may read such a request differently (request smuggling).",
    shots: (target) => [
      { delivery: target.compose(), options: { chunked: true, extraHeaders: [["content-length", "5"]] } },
    ],
  }),
  refusedCheck({
    id: "transfer.gzip",
    requirement: "SHOULD",
    title: "refuses a compressed body",
    sent: "a delivery compressed with gzip after signing",
    expected: "415 (or another 4xx)",
    mend: "Verify the bytes as they come: refuse any content-encoding (express.raw: `inflate: false`).",
    shots: async (target) => {
      const delivery = target.compose();
      const wireBody = await compress(delivery.body);
      return [{ delivery, options: { wireBody, extraHeaders: [["content-encoding", "gzip"]] } }];
    },
  }),
  {
    id: "transfer.gzip-bomb",
    requirement: "SHOULD",
    title: "refuses a compressed body that inflates to 32 MB",
    sent: "a forged delivery of 32 KB that inflates to 32 MB",
    expected: "415 or 413 (or another 4xx), in time",
    mend: "Do not inflate what has not been verified; refuse any content-encoding.",
    async run(target) {
      const delivery = target.compose();
      const signature = target.signForged(delivery);
      const wireBody = await gzipBomb();
      const options = { wireBody, extraHeaders: [["content-encoding", "gzip"]] } as const;
      const answer = await target.send({ ...delivery, signature }, options);
      return (isHandled(answer) && isRefused(answer) ? passed : failed)(describeAnswer(answer));
    },
  },
];
