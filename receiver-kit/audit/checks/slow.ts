import type { Target } from "../target/target.ts";
import { type AuditCheck, type Finding, failed, passed } from "./check.ts";
import { describeAnswer, isAcknowledged, isRefused } from "./probe-check.ts";

const idleConnections = 20;
const pieces = 8;
const pauseMs = 75;

/** Holds connections open, each with `opening` sent, and expects a true delivery to be answered meanwhile. */
async function answeredBeside(target: Target, opening: () => Buffer): Promise<Finding> {
  const idle = Array.from({ length: idleConnections }, () => target.connect());
  try {
    await Promise.all(idle.map((connection) => connection.write(opening())));
    const answer = await target.send(target.compose());
    return (isAcknowledged(answer) ? passed : failed)(describeAnswer(answer));
  } finally {
    for (const connection of idle) connection.close();
  }
}

/** The request up to the middle of its body. */
function halfRequest(target: Target): Buffer {
  const delivery = target.compose();
  const bytes = target.request(delivery);
  return bytes.subarray(0, bytes.length - Math.floor(delivery.body.length / 2));
}

export const slowChecks: readonly AuditCheck[] = [
  {
    id: "slow.trickling-body",
    requirement: "MUST",
    title: "accepts a body that takes half a second to arrive",
    sent: `a delivery whose body comes in ${pieces} pieces, ${pauseMs} ms apart`,
    expected: "2xx",
    mend: "Wait for the whole body: a deadline of several seconds is early enough.",
    async run(target) {
      const delivery = target.compose();
      const bytes = target.request(delivery);
      const start = bytes.length - delivery.body.length;
      const size = Math.ceil(delivery.body.length / pieces);
      const connection = target.connect();
      try {
        await connection.write(bytes.subarray(0, start));
        for (let at = start; at < bytes.length && !connection.ended; at += size) {
          await target.wait(pauseMs);
          await connection.write(bytes.subarray(at, at + size));
        }
        const answer = target.record(delivery, await connection.answer(target.limits.timeoutMs));
        return (isAcknowledged(answer) ? passed : failed)(describeAnswer(answer));
      } finally {
        connection.close();
      }
    },
  },
  {
    id: "slow.headers-do-not-block",
    requirement: "SHOULD",
    title: "goes on answering while callers dawdle over their headers",
    sent: `${idleConnections} connections that stop in the middle of a header, then a true delivery`,
    expected: "2xx for the delivery",
    mend: "Use a server that handles connections beside each other, and limit the time for headers (Node: server.headersTimeout).",
    stage: "alone",
    run: (target) =>
      answeredBeside(target, () => {
        const bytes = target.request(target.compose());
        return bytes.subarray(0, bytes.indexOf("user-agent"));
      }),
  },
  {
    id: "slow.bodies-do-not-block",
    requirement: "SHOULD",
    title: "goes on answering while callers dawdle over their bodies",
    sent: `${idleConnections} connections that stop in the middle of a body, then a true delivery`,
    expected: "2xx for the delivery",
    mend: "Use a server that handles connections beside each other; read bodies without blocking.",
    stage: "alone",
    run: (target) => answeredBeside(target, () => halfRequest(target)),
  },
  {
    id: "slow.stalled-body",
    requirement: "SHOULD",
    title: "gives up on a body that never ends",
    sent: "the first half of a delivery, then nothing more",
    expected: "408 (or another 4xx), or a closed connection, within the stall time limit",
    mend: "Set a deadline for the body (10 s is plenty); without one, idle callers pile up in memory.",
    stage: "alone",
    async run(target) {
      const connection = target.connect();
      try {
        await connection.write(halfRequest(target));
        const answer = await connection.answer(target.limits.stallTimeoutMs);
        return (isRefused(answer) ? passed : failed)(describeAnswer(answer));
      } finally {
        connection.close();
      }
    },
  },
];
