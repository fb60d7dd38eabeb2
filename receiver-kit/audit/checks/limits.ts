import { completedTaxPrep } from "../target/sample-events.ts";
import type { Delivery } from "../target/scheme.ts";
import type { Target } from "../target/target.ts";
import { type AuditCheck, failed, passed } from "./check.ts";
import { acknowledgedCheck, describeAnswer, isRefused } from "./probe-check.ts";

const announcedBytes = 1024 ** 3;
const chunkBytes = 64 * 1024;
const streamedBytesMax = 32 * 1024 ** 2;
const limitIt =
  "Limit the size of a body (1 MB is plenty) and answer 413 as soon as content-length or what has arrived exceeds it: before the signature is checked, anybody can send.";

/** A `task.completed` of at least `bytes`, made long the way real ones get long: by review items. */
function ofSize(target: Target, bytes: number): Delivery {
  return target.compose({ payload: target.samples.task(completedTaxPrep(Math.ceil(bytes / 70))) });
}

export const limitChecks: readonly AuditCheck[] = [
  acknowledgedCheck({
    id: "limits.ordinary-size",
    requirement: "MUST",
    title: "accepts an event of 20 KB",
    sent: "task.completed with review items of 20 KB in all",
    mend: "Allow for at least 1 MB; a signed delivery answered 413 is retried in vain.",
    shots: (target) => [{ delivery: ofSize(target, 20 * 1024) }],
  }),
  acknowledgedCheck({
    id: "limits.large-event",
    requirement: "SHOULD",
    title: "accepts an event of 256 KB",
    sent: "task.completed with review items of 256 KB in all",
    mend: "Allow for at least 1 MB (the default of Express is 100 KB: `express.raw({ limit: '1mb' })`).",
    shots: (target) => [{ delivery: ofSize(target, 256 * 1024) }],
  }),
  {
    id: "limits.announced-too-large",
    requirement: "SHOULD",
    title: "refuses a body announced as 1 GB at once",
    sent: "a forged delivery with content-length 1 GB, of which 64 KB are sent",
    expected: "413 (or another 4xx), or a closed connection, without the rest",
    mend: limitIt,
    async run(target) {
      const delivery = target.compose();
      const forged = { ...delivery, signature: target.signForged(delivery) };
      const options = { contentLength: announcedBytes, wireBody: Buffer.alloc(chunkBytes, 0x20) };
      const answer = await target.send(forged, options);
      return (isRefused(answer) ? passed : failed)(describeAnswer(answer));
    },
  },
  {
    id: "limits.streamed-too-large",
    requirement: "SHOULD",
    title: "refuses an endless body after a reasonable part of it",
    sent: "a forged chunked delivery that goes on for up to 32 MB",
    expected: "413 (or another 4xx), or a closed connection, before 32 MB are through",
    mend: limitIt,
    run: (target) => streamUntilRefused(target),
  },
];

async function streamUntilRefused(target: Target) {
  const delivery = target.compose({ body: "" });
  const forged = { ...delivery, signature: target.signForged(delivery) };
  const request = target.request(forged, { chunked: true });
  const head = request.subarray(0, request.indexOf("\r\n\r\n") + 4);
  const size = Buffer.from(`${chunkBytes.toString(16)}\r\n`);
  const chunk = Buffer.concat([size, Buffer.alloc(chunkBytes, 0x20), Buffer.from("\r\n")]);
  const connection = target.connect();
  try {
    await connection.write(head);
    let over = false;
    const answer = connection.answer(target.limits.timeoutMs).finally(() => {
      over = true;
    });
    let sentBytes = 0;
    while (!over && sentBytes < streamedBytesMax) {
      await Promise.race([connection.write(chunk), answer]);
      sentBytes += chunkBytes;
    }
    if (!over) return failed(`took all ${streamedBytesMax / 1024 ** 2} MB without an answer`);
    const received = target.record(forged, await answer);
    return (isRefused(received) ? passed : failed)(
      `${describeAnswer(received)} after ${(sentBytes / 1024 ** 2).toFixed(1)} MB`,
    );
  } finally {
    connection.close();
  }
}
