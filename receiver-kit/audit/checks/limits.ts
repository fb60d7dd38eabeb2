import { completedTaxPrep } from "../target/sample-events.ts";
import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type CheckTable, type Finding, failed, passedIf } from "./check.ts";
import {
  describeResult,
  isRejected,
  mustAcknowledge,
  shouldAcknowledge,
  shouldReject,
} from "./probe-check.ts";

const announcedBytes = 1024 ** 3;
const chunkBytes = 64 * 1024;
const streamedBytesMax = 32 * 1024 ** 2;
const limitIt =
  "Limit the size of a body (1 MB is plenty) and respond 413 as soon as content-length or the received bytes exceed it: before the signature is checked, anyone can send.";

/** A `task.completed` of at least `bytes`; real ones are long because of review items, too. */
function ofSize(target: Target, bytes: number): Delivery {
  return target.compose({ payload: target.samples.task(completedTaxPrep(Math.ceil(bytes / 70))) });
}

export const limitChecks: CheckTable = {
  "limits.ordinary-size": mustAcknowledge({
    title: "accepts an event of 20 KB",
    sent: "task.completed with review items of 20 KB in all",
    fix: "Allow at least 1 MB; a signed delivery that gets a 413 is retried in vain.",
    probes: (target) => ofSize(target, 20 * 1024),
  }),
  "limits.large-event": shouldAcknowledge({
    title: "accepts an event of 256 KB",
    sent: "task.completed with review items of 256 KB in all",
    fix: "Allow at least 1 MB (the default of Express is 100 KB: `express.raw({ limit: '1mb' })`).",
    probes: (target) => ofSize(target, 256 * 1024),
  }),
  "limits.announced-too-large": shouldReject({
    title: "rejects a body announced as 1 GB at once",
    sent: "a forged delivery with content-length 1 GB, of which 64 KB are sent",
    expected: "413 (or another 4xx), or a closed connection, without the rest",
    fix: limitIt,
    probes: (target) => ({
      delivery: target.forge(),
      options: { contentLength: announcedBytes, wireBody: Buffer.alloc(chunkBytes, 0x20) },
    }),
  }),
  "limits.streamed-too-large": {
    requirement: "SHOULD",
    title: "rejects an endless body after a reasonable part of it",
    sent: "a forged chunked delivery of up to 32 MB",
    expected: "413 (or another 4xx), or a closed connection, before 32 MB are sent",
    fix: limitIt,
    run: streamUntilRejected,
  },
};

function streamUntilRejected(target: Target): Promise<Finding> {
  const forged = target.forge({ body: "" });
  const request = target.request(forged, { chunked: true });
  const head = request.subarray(0, request.indexOf("\r\n\r\n") + 4);
  const size = Buffer.from(`${chunkBytes.toString(16)}\r\n`);
  const chunk = Buffer.concat([size, Buffer.alloc(chunkBytes, 0x20), Buffer.from("\r\n")]);
  return target.withConnection(async (connection) => {
    await connection.write(head);
    let isOver = false;
    const response = target.receive(forged, connection).finally(() => {
      isOver = true;
    });
    let sentBytes = 0;
    while (!isOver && sentBytes < streamedBytesMax) {
      await Promise.race([connection.write(chunk), response]);
      sentBytes += chunkBytes;
    }
    if (!isOver) return failed(`accepted all ${streamedBytesMax / 1024 ** 2} MB without a response`);
    const result = await response;
    return passedIf(
      isRejected(result),
      `${describeResult(result)} after ${(sentBytes / 1024 ** 2).toFixed(1)} MB`,
    );
  });
}
