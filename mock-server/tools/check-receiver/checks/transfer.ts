// How the bytes of a request arrive: framing, pace and size.

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ProbeResult } from "../target/connection.ts";
import { completedTaxPrep, type Delivery, type Target } from "../target/target.ts";
import { acknowledgedWithEffects, counted } from "./effects.ts";
import * as probe from "./probe-check.ts";
import { type CheckTable, type Finding, failed, passed, passedIf } from "./probe-check.ts";

const compress = promisify(gzip);
const idleConnections = 20;
const pieces = 8;
const pauseMs = 75;

const chunkBytes = 64 * 1024;
const streamedBytesMax = 32 * 1024 ** 2;
const tinyBodies = 4;
const tinyChunks = 100_000;
const limitIt =
  "Limit the size of a body (1 MB is plenty) and respond 413 as soon as content-length or the received bytes exceed it: before the signature is checked, anyone can send.";

let bomb: Promise<Buffer> | undefined;

/** Compressed once: that takes longer than sending. */
function gzipBomb(): Promise<Buffer> {
  bomb ??= compress(Buffer.alloc(32 * 1024 * 1024, 0x20));
  return bomb;
}

const shouldRejectInTime = probe.probeCheck(
  "SHOULD",
  "415 or 413 (or another 4xx), in time",
  (result) => probe.isHandled(result) && probe.isRejected(result),
  "skipped",
);

const gzipped = (wireBody: Buffer): Partial<Delivery> => {
  return { wireBody, extraHeaders: [["content-encoding", "gzip"]] };
};

/**
 * Sends a valid, a forged and a valid delivery on one connection, at once or each after the response to the one before.
 * The receiver may close the connection after any response; each response must belong to its request.
 */
const reuseConnection = (forgedBytes: number, atOnce: boolean) => (target: Target) => {
  const { compose, forge } = target;
  const forged = forge({ body: `{"filler":"${"x".repeat(forgedBytes)}"}` });
  const deliveries = [compose(), forged, compose()].map((each) => ({ ...each, keepAlive: true }));
  return target.withConnection(async (connection) => {
    const seen: string[] = [];
    if (atOnce) void connection.write(Buffer.concat(deliveries.map(target.request)));
    for (const [index, delivery] of deliveries.entries()) {
      if (!atOnce) void connection.write(target.request(delivery));
      const result = await target.receive(delivery, connection);
      seen.push(probe.describeResult(result));
      if (result.kind === "closed" && index > 0) break;
      if (!(index === 1 ? probe.isRejected : probe.isAcknowledged)(result)) return failed(seen.join(", "));
      const isClosing = result.kind === "response" && result.headers.get("connection") === "close";
      if (isClosing && index < 2) return passed(`${seen.join(", ")}, then closed`);
    }
    return passed(seen.join(", "));
  });
};

/** Ends its side in the middle of the announced body; any result but an acknowledgement is correct. */
const endEarly = (change: (body: Buffer) => Partial<Delivery>) => (target: Target) => {
  const composed = target.compose();
  const delivery = { ...composed, ...change(composed.body), keepAlive: true };
  return target.withConnection(async (connection) => {
    await connection.write(target.request(delivery));
    connection.finish();
    const result = await target.receive(delivery, connection);
    return passedIf(probe.isRejected(result), probe.describeResult(result));
  });
};

/** Sends the first `start` bytes at once and the rest in pieces; the delivery must be acknowledged. */
function sendInPieces(
  target: Target,
  delivery: Delivery,
  { start, pieceBytes, pauseMs }: Readonly<Record<"start" | "pieceBytes" | "pauseMs", number>>,
): Promise<Finding> {
  const bytes = target.request(delivery);
  return target.withConnection(async (connection) => {
    await connection.write(bytes.subarray(0, start));
    for (let at = start; at < bytes.length && !connection.ended; at += pieceBytes) {
      await target.wait(pauseMs);
      await connection.write(bytes.subarray(at, at + pieceBytes));
    }
    const result = await target.receive(delivery, connection);
    return passedIf(probe.isAcknowledged(result), probe.describeResult(result));
  });
}

/** Holds connections open, each with the start of a request, and expects a delivery to be acknowledged meanwhile. */
async function acknowledgesMeanwhile(target: Target, startOf: (request: Buffer) => Buffer): Promise<Finding> {
  const idle = Array.from({ length: idleConnections }, () => target.connect());
  try {
    await Promise.all(idle.map((each) => each.write(startOf(target.request(target.compose())))));
    const result = await target.send(target.compose());
    return passedIf(probe.isAcknowledged(result), probe.describeResult(result));
  } finally {
    for (const connection of idle) connection.close();
  }
}

/** The request up to the middle of its body. */
const upToHalfTheBody = (request: Buffer) =>
  request.subarray(0, Math.floor((request.length + request.indexOf("\r\n\r\n") + 4) / 2));

/** A `task.completed` of at least `bytes`; real ones are long because of review items, too. */
const ofSize =
  (bytes: number): probe.Change =>
  (_, { samples, compose }) =>
    compose({ payload: samples.task(completedTaxPrep(Math.ceil(bytes / 65))) });

/** A chunk as HTTP/1.1 sends it. */
const chunkOf = (bytes: number) =>
  Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), Buffer.alloc(bytes, 0x20), Buffer.from("\r\n")]);

interface Stream {
  readonly chunk: Buffer;
  /** Bytes of the body in a chunk. */
  readonly chunkBytes: number;
  readonly bytesMax: number;
}

/** Sends a forged body until there is a response, at most `bytesMax` bytes. */
function streamForged(target: Target, { chunk, chunkBytes, bytesMax }: Stream): Promise<StreamEnd> {
  const forged = { ...target.forge(), chunked: true };
  const request = target.request(forged);
  const head = request.subarray(0, request.indexOf("\r\n\r\n") + 4);
  return target.withConnection(async (connection) => {
    await connection.write(head);
    let isOver = false;
    const response = target.receive(forged, connection).finally(() => {
      isOver = true;
    });
    let sentBytes = 0;
    while (!isOver && sentBytes < bytesMax) {
      await Promise.race([connection.write(chunk), response]);
      sentBytes += chunkBytes;
    }
    const isComplete = !isOver;
    if (isComplete) await Promise.race([connection.write(Buffer.from("0\r\n\r\n")), response]);
    return { isComplete, sentBytes, result: await response };
  });
}

interface StreamEnd {
  /** All was sent before there was a response. */
  readonly isComplete: boolean;
  readonly sentBytes: number;
  readonly result: ProbeResult;
}

async function streamUntilRejected(target: Target): Promise<Finding> {
  const stream = { chunk: chunkOf(chunkBytes), chunkBytes, bytesMax: streamedBytesMax };
  const { isComplete, sentBytes, result } = await streamForged(target, stream);
  if (isComplete) return failed(`accepted all ${streamedBytesMax / 1024 ** 2} MB without a response`);
  const sentMb = (sentBytes / 1024 ** 2).toFixed(1);
  return passedIf(probe.isRejected(result), `${probe.describeResult(result)} after ${sentMb} MB`);
}

/** Bodies in chunks of one byte, and a valid delivery while they arrive and afterwards. */
async function acknowledgesBesideTinyChunks(target: Target): Promise<Finding> {
  const manyAtOnce = 10_000;
  const chunk = Buffer.concat(Array(manyAtOnce).fill(chunkOf(1)));
  const stream = { chunk, chunkBytes: manyAtOnce, bytesMax: tinyChunks };
  const streaming = Promise.all(Array.from({ length: tinyBodies }, () => streamForged(target, stream)));
  const meanwhile = await target.send(target.compose());
  const ends = await streaming;
  for (const valid of [meanwhile, await target.send(target.compose())])
    if (!probe.isAcknowledged(valid)) return failed(`${probe.describeResult(valid)} for a valid one`);
  const accepted = ends.find(({ result }) => !probe.isRejected(result));
  if (accepted) return failed(`${probe.describeResult(accepted.result)} for a forged one`);
  const sent = Math.max(...ends.map(({ sentBytes }) => sentBytes));
  return passed(`${probe.describeResult(meanwhile)}; the others ended after at most ${sent} chunks`);
}

export const transferChecks: CheckTable = {
  "transfer.chunked": probe.mustAcknowledge({
    title: "accepts a body sent in chunks",
    sent: "a delivery with transfer-encoding: chunked and no content-length",
    fix: "Read the body to its end instead of reading content-length bytes; where the server cannot, put a proxy in front that can.",
    change: () => ({ chunked: true }),
  }),
  "transfer.in-pieces": {
    requirement: "MUST",
    title: "accepts a request that arrives in small pieces",
    unverified: "inconclusive",
    sent: "a delivery in pieces of 41 bytes, which split header names and characters of several bytes",
    expected: "2xx",
    fix: "Collect the pieces as bytes and decode once at the end; a decoded piece may end inside a character.",
    run(target) {
      const delivery = target.compose({ payload: target.samples.task({ errorMessage: "税🧾".repeat(40) }) });
      return sendInPieces(target, delivery, { start: 0, pieceBytes: 41, pauseMs: 1 });
    },
  },
  "transfer.reused-connection": {
    requirement: "MUST",
    title: "responds to each of several requests on one connection, also after a rejected one",
    unverified: "skipped",
    sent: "a valid, a forged and a valid delivery, in one write; then the same in order, the forged one of 64 KB",
    expected: "2xx, 4xx, 2xx in this order; closing after any of them is fine",
    fix: "Keep nothing of one request for the next, and read or discard the whole body of a rejected one, or close its connection.",
    async run(target) {
      const atOnce = await reuseConnection(10, true)(target);
      return atOnce.outcome === "failed" ? atOnce : reuseConnection(64 * 1024, false)(target);
    },
  },
  "transfer.truncated": {
    requirement: "MUST",
    title: "rejects a body that ends too early",
    sent: "a delivery whose connection ends in the middle of the announced body",
    expected: "a 4xx response, or a closed connection",
    fix: "Treat an aborted request as not received: listen for its end or error, and verify only complete bodies.",
    run: endEarly((body) => ({ contentLength: body.length, wireBody: body.subarray(0, body.length / 2) })),
  },
  "transfer.content-length-too-high": {
    requirement: "SHOULD",
    title: "rejects a body shorter than announced",
    sent: "a complete signed body announced as 64 bytes longer, then the end of the connection",
    expected: "a 4xx response, or a closed connection",
    fix: "Compare the received bytes with content-length: a short read means that the request is incomplete.",
    run: endEarly((body) => ({ contentLength: body.length + 64 })),
  },
  "transfer.aborted-then-retried": {
    ...counted,
    title: "accepts a delivery whose first attempt was aborted",
    sent: "most of a delivery and an aborted connection, then the whole of it",
    expected: "2xx and one effect for the second attempt",
    fix: "Record an id only once its whole body is verified, so that an aborted attempt does not make the next a duplicate.",
    async run(target) {
      const delivery = target.compose();
      await target.withConnection((connection) =>
        connection.write(target.request(delivery).subarray(0, -100)),
      );
      return acknowledgedWithEffects(target, [delivery]);
    },
  },
  "transfer.length-and-chunked": probe.shouldReject({
    title: "rejects a request with two lengths",
    unverified: undefined,
    sent: "a delivery with both transfer-encoding: chunked and a content-length",
    fix: "Use a server that rejects both together: a proxy may read such a request differently (request smuggling).",
    change: () => ({ chunked: true, extraHeaders: [["content-length", "5"]] }),
  }),
  "transfer.gzip": probe.shouldReject({
    title: "rejects a compressed body",
    sent: "a delivery compressed with gzip after signing",
    expected: "415 (or another 4xx)",
    fix: "Verify the received bytes: reject any content-encoding (express.raw: `inflate: false`).",
    change: async ({ body }) => gzipped(await compress(body)),
  }),
  "transfer.gzip-bomb": shouldRejectInTime({
    title: "rejects a compressed body that inflates to 32 MB",
    sent: "a forged delivery of 32 KB that inflates to 32 MB",
    fix: "Do not inflate what has not been verified; reject any content-encoding.",
    change: async (_, { forge }) => ({ ...forge(), ...gzipped(await gzipBomb()) }),
  }),
  "slow.trickling-body": {
    requirement: "MUST",
    title: "accepts a body that takes half a second to arrive",
    unverified: "inconclusive",
    sent: `a delivery whose body is sent in ${pieces} pieces, ${pauseMs} ms apart`,
    expected: "2xx",
    fix: "Wait for the whole body: a deadline of several seconds is early enough.",
    run(target) {
      const delivery = target.compose();
      const { length } = delivery.body;
      const start = target.request(delivery).length - length;
      return sendInPieces(target, delivery, { start, pieceBytes: Math.ceil(length / pieces), pauseMs });
    },
  },
  "slow.others-do-not-block": {
    requirement: "SHOULD",
    stage: "alone",
    title: "keeps responding while other callers send slow headers and bodies",
    sent: `${idleConnections} connections that stop in the middle of a header, or of a body, then a valid delivery`,
    expected: "2xx for the delivery",
    fix: "Use a server that handles connections concurrently, and limit the time for headers (Node: server.headersTimeout).",
    async run(target) {
      const toHeader = (request: Buffer) => request.subarray(0, request.indexOf("user-agent"));
      const finding = await acknowledgesMeanwhile(target, toHeader);
      return finding.outcome === "failed" ? finding : acknowledgesMeanwhile(target, upToHalfTheBody);
    },
  },
  "slow.stalled-body": {
    requirement: "SHOULD",
    stage: "alone",
    title: "gives up on a body that never ends",
    sent: "the first half of a delivery, then nothing more",
    expected: "408 (or another 4xx), or a closed connection, within the stall time limit",
    fix: "Set a deadline for the body (10 s is plenty); without one, idle callers accumulate in memory.",
    run: (target) =>
      target.withConnection(async (connection) => {
        const delivery = target.compose();
        await connection.write(upToHalfTheBody(target.request(delivery)));
        const result = await target.receive(delivery, connection, target.stallTimeoutMs);
        return passedIf(probe.isRejected(result), probe.describeResult(result));
      }),
  },
  "limits.ordinary-size": probe.mustAcknowledge({
    title: "accepts an event of 20 KB",
    sent: "task.completed with review items of 20 KB in all",
    fix: "Allow at least 1 MB; a signed delivery that gets a 413 is retried in vain.",
    change: ofSize(20 * 1024),
  }),
  "limits.large-event": probe.shouldAcknowledge({
    title: "accepts an event of 256 KB",
    sent: "task.completed with review items of 256 KB in all",
    fix: "Allow at least 1 MB (the default of Express is 100 KB: `express.raw({ limit: '1mb' })`).",
    change: ofSize(256 * 1024),
  }),
  "limits.too-large": {
    requirement: "SHOULD",
    title: "rejects a body announced as 1 GB at once, and an endless one after a reasonable part of it",
    sent: "a forged delivery with content-length 1 GB, of which 64 KB are sent, and a chunked one of up to 32 MB",
    expected: "413 (or another 4xx), or a closed connection, without the rest",
    fix: limitIt,
    async run(target) {
      const announced = { contentLength: 1024 ** 3, wireBody: Buffer.alloc(chunkBytes, 0x20) };
      const result = await target.send({ ...target.forge(), ...announced });
      return probe.isRejected(result) ? streamUntilRejected(target) : failed(probe.describeResult(result));
    },
  },
  "limits.tiny-chunks": {
    requirement: "SHOULD",
    stage: "alone",
    title: "keeps responding while bodies arrive in chunks of one byte",
    sent: `${tinyBodies} forged deliveries of up to ${tinyChunks} chunks of one byte each, a valid one meanwhile and one afterwards`,
    expected: "2xx for the valid ones; 4xx, or a closed connection, for the others",
    fix: "Copy chunks into one buffer, and limit their number: a list of them takes hundreds of times as much memory. A proxy that collects bodies does both.",
    run: acknowledgesBesideTinyChunks,
  },
};
