import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ProbeResult } from "../target/connection.ts";
import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type CheckDefinition, type CheckTable, type Finding, failed, passed, passedIf } from "./check.ts";
import { acknowledgedWithEffects } from "./effects.ts";
import {
  describeResult,
  isAcknowledged,
  isHandled,
  isRejected,
  mustAcknowledge,
  probeCheck,
  shouldReject,
} from "./probe-check.ts";
import { sendInPieces } from "./slow.ts";

const compress = promisify(gzip);
const inflatedBombBytes = 32 * 1024 * 1024;

let bomb: Promise<Buffer> | undefined;

/** Compressed once: that takes longer than sending. */
function gzipBomb(): Promise<Buffer> {
  bomb ??= compress(Buffer.alloc(inflatedBombBytes, 0x20));
  return bomb;
}

interface Turn {
  readonly delivery: Delivery;
  readonly isForged: boolean;
}

function validForgedValid(target: Target, forgedBodyBytes: number): readonly Turn[] {
  return [
    { delivery: target.compose(), isForged: false },
    {
      delivery: target.forge({ body: `{"filler":"${"x".repeat(forgedBodyBytes)}"}` }),
      isForged: true,
    },
    { delivery: target.compose(), isForged: false },
  ];
}

/**
 * Evaluates the responses to `turns` in order. A receiver may close the connection after any response; each response
 * must belong to its request.
 */
async function evaluateTurns(
  turns: readonly Turn[],
  next: (turn: Turn) => Promise<ProbeResult>,
): Promise<Finding> {
  const seen: string[] = [];
  for (const turn of turns) {
    const result = await next(turn);
    seen.push(describeResult(result));
    if (result.kind === "closed" && seen.length > 1) return passed(seen.join(", "));
    const isCorrect = turn.isForged ? isRejected(result) : isAcknowledged(result);
    if (!isCorrect) return failed(seen.join(", "));
    const isClosing = result.kind === "response" && result.headers.get("connection") === "close";
    if (isClosing && seen.length < turns.length) return passed(`${seen.join(", ")}, then closed`);
  }
  return passed(seen.join(", "));
}

/** A check that ends its side in the middle of the announced body; any result but an acknowledgement is correct. */
function cutShort({
  cut,
  ...check
}: Omit<CheckDefinition, "run" | "expected"> & {
  readonly cut: (body: Buffer) => { readonly contentLength: number; readonly wireBody: Buffer };
}): CheckDefinition {
  return {
    expected: "a 4xx response, or a closed connection",
    ...check,
    run(target) {
      const delivery = target.compose();
      return target.withConnection(async (connection) => {
        await connection.write(target.request(delivery, { ...cut(delivery.body), keepAlive: true }));
        connection.finish();
        const result = await target.receive(delivery, connection);
        return passedIf(isRejected(result), describeResult(result));
      });
    },
  };
}

export const transferChecks: CheckTable = {
  "transfer.chunked": mustAcknowledge({
    title: "accepts a body sent in chunks",
    sent: "a delivery with transfer-encoding: chunked and no content-length",
    fix: "Read the body to its end instead of reading content-length bytes; where the server cannot, put a proxy in front that can.",
    probes: (target) => ({ delivery: target.compose(), options: { chunked: true } }),
  }),
  "transfer.in-pieces": {
    requirement: "MUST",
    title: "accepts a request that arrives in small pieces",
    sent: "a delivery in pieces of 41 bytes, which split header names and characters of several bytes",
    expected: "2xx",
    fix: "Collect the pieces as bytes and decode once at the end; a decoded piece may end inside a character.",
    run(target) {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "税🧾".repeat(40) }) });
      return sendInPieces(target, delivery, { start: 0, pieceBytes: 41, pauseMs: 1 });
    },
  },
  "transfer.pipelined": {
    requirement: "MUST",
    title: "responds to each of several requests sent at once",
    sent: "a valid, a forged and a valid delivery in one write on one connection",
    expected: "2xx, 4xx, 2xx in this order; closing after any of them is fine",
    fix: "Keep nothing of one request for the next: no module-level body, id or result.",
    run(target) {
      const turns = validForgedValid(target, 10);
      return target.withConnection((connection) => {
        const requests = turns.map(({ delivery }) => target.request(delivery, { keepAlive: true }));
        void connection.write(Buffer.concat(requests));
        return evaluateTurns(turns, ({ delivery }) => target.receive(delivery, connection));
      });
    },
  },
  "transfer.keep-alive": {
    requirement: "MUST",
    title: "responds to requests on a reused connection, also after a rejected one",
    sent: "on one connection and in order: a valid delivery, a forged one of 64 KB, a valid one",
    expected: "2xx, 4xx, 2xx; closing after any of them is fine",
    fix: "Read or discard the whole body of a rejected request, or close its connection: the rest would be read as the next request.",
    run(target) {
      return target.withConnection((connection) =>
        evaluateTurns(validForgedValid(target, 64 * 1024), ({ delivery }) => {
          void connection.write(target.request(delivery, { keepAlive: true }));
          return target.receive(delivery, connection);
        }),
      );
    },
  },
  "transfer.truncated": cutShort({
    requirement: "MUST",
    title: "rejects a body that ends too early",
    sent: "a delivery whose connection ends in the middle of the announced body",
    fix: "Treat an aborted request as not received: listen for its end or error, and verify only complete bodies.",
    cut: (body) => ({ contentLength: body.length, wireBody: body.subarray(0, body.length / 2) }),
  }),
  "transfer.content-length-too-high": cutShort({
    requirement: "SHOULD",
    title: "rejects a body shorter than announced",
    sent: "a complete signed body announced as 64 bytes longer, then the end of the connection",
    fix: "Compare the received bytes with content-length: a short read means that the request is incomplete.",
    cut: (body) => ({ contentLength: body.length + 64, wireBody: body }),
  }),
  "transfer.aborted-then-retried": {
    requirement: "MUST",
    stage: "alone",
    title: "accepts a delivery whose first attempt was aborted",
    sent: "most of a delivery and an aborted connection, then the whole of it",
    expected: "2xx and one effect for the second attempt",
    fix: "Record an id only once its whole body is verified, so that an aborted attempt does not make the next a duplicate.",
    async run(target) {
      const delivery = target.compose();
      const bytes = target.request(delivery);
      await target.withConnection((connection) => connection.write(bytes.subarray(0, bytes.length - 100)));
      return acknowledgedWithEffects(target, [delivery]);
    },
  },
  "transfer.length-and-chunked": shouldReject({
    title: "rejects a request with two lengths",
    sent: "a delivery with both transfer-encoding: chunked and a content-length",
    fix: "Use a server that rejects both together: a proxy may read such a request differently (request smuggling).",
    probes: (target) => ({
      delivery: target.compose(),
      options: { chunked: true, extraHeaders: [["content-length", "5"]] },
    }),
  }),
  "transfer.gzip": shouldReject({
    title: "rejects a compressed body",
    sent: "a delivery compressed with gzip after signing",
    expected: "415 (or another 4xx)",
    fix: "Verify the received bytes: reject any content-encoding (express.raw: `inflate: false`).",
    async probes(target) {
      const delivery = target.compose();
      const wireBody = await compress(delivery.body);
      return { delivery, options: { wireBody, extraHeaders: [["content-encoding", "gzip"]] } };
    },
  }),
  "transfer.gzip-bomb": probeCheck(
    "SHOULD",
    "415 or 413 (or another 4xx), in time",
    (result) => isHandled(result) && isRejected(result),
  )({
    title: "rejects a compressed body that inflates to 32 MB",
    sent: "a forged delivery of 32 KB that inflates to 32 MB",
    fix: "Do not inflate what has not been verified; reject any content-encoding.",
    async probes(target) {
      const options = { wireBody: await gzipBomb(), extraHeaders: [["content-encoding", "gzip"]] } as const;
      return { delivery: target.forge(), options };
    },
  }),
};
