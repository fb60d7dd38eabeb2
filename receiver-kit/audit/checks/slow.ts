import type { Delivery } from "../target/signing.ts";
import type { Target } from "../target/target.ts";
import { type CheckTable, type Finding, passedIf } from "./check.ts";
import { describeResult, isAcknowledged, isRejected } from "./probe-check.ts";

const idleConnections = 20;
const pieces = 8;
const pauseMs = 75;

/** Sends the first `start` bytes at once and the rest in pieces; the delivery must be acknowledged. */
export function sendInPieces(
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
    return passedIf(isAcknowledged(result), describeResult(result));
  });
}

/** Holds connections open, each with `opening` sent, and expects a valid delivery to be acknowledged meanwhile. */
async function acknowledgedMeanwhile(target: Target, opening: () => Buffer): Promise<Finding> {
  const idle = Array.from({ length: idleConnections }, () => target.connect());
  try {
    await Promise.all(idle.map((connection) => connection.write(opening())));
    const result = await target.send(target.compose());
    return passedIf(isAcknowledged(result), describeResult(result));
  } finally {
    for (const connection of idle) connection.close();
  }
}

export const slowChecks: CheckTable = {
  "slow.trickling-body": {
    requirement: "MUST",
    title: "accepts a body that takes half a second to arrive",
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
  "slow.headers-do-not-block": {
    requirement: "SHOULD",
    title: "keeps responding while other callers send slow headers",
    sent: `${idleConnections} connections that stop in the middle of a header, then a valid delivery`,
    expected: "2xx for the delivery",
    fix: "Use a server that handles connections concurrently, and limit the time for headers (Node: server.headersTimeout).",
    stage: "alone",
    run: (target) =>
      acknowledgedMeanwhile(target, () => {
        const bytes = target.request(target.compose());
        return bytes.subarray(0, bytes.indexOf("user-agent"));
      }),
  },
  "slow.bodies-do-not-block": {
    requirement: "SHOULD",
    title: "keeps responding while other callers send slow bodies",
    sent: `${idleConnections} connections that stop in the middle of a body, then a valid delivery`,
    expected: "2xx for the delivery",
    fix: "Use a server that handles connections concurrently; read bodies without blocking.",
    stage: "alone",
    run: (target) => acknowledgedMeanwhile(target, () => halfRequest(target, target.compose())),
  },
  "slow.stalled-body": {
    requirement: "SHOULD",
    title: "gives up on a body that never ends",
    sent: "the first half of a delivery, then nothing more",
    expected: "408 (or another 4xx), or a closed connection, within the stall time limit",
    fix: "Set a deadline for the body (10 s is plenty); without one, idle callers accumulate in memory.",
    stage: "alone",
    run: (target) =>
      target.withConnection(async (connection) => {
        const delivery = target.compose();
        await connection.write(halfRequest(target, delivery));
        const result = await target.receive(delivery, connection, target.limits.stallTimeoutMs);
        return passedIf(isRejected(result), describeResult(result));
      }),
  },
};

/** The request up to the middle of its body. */
function halfRequest(target: Target, delivery: Delivery): Buffer {
  const bytes = target.request(delivery);
  return bytes.subarray(0, bytes.length - Math.floor(delivery.body.length / 2));
}
