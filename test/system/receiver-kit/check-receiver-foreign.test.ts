// check-receiver against receivers that are not its reference. What it finds of other libraries is in
// docs/maintainers/receiver-reports.md, by docs/generate/receiver-reports.ts.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { auditReceiver, exitCodeOf } from "workspace-tasks/check-receiver";
import { failedIds, oldSecret, secret } from "../../support/receivers/audit-fixture.ts";
import { startKitReceiver } from "../../support/receivers/kit-receiver.ts";
import {
  type RunningReceiver,
  serveReceiver,
  startPythonReceiver,
} from "../../support/receivers/served-receiver.ts";
import { itWithPython } from "../../support/with-python.ts";

// The limits end what hangs, also on a busy machine.
const quick = {
  observeSettleMs: 40,
  observeTimeoutMs: 10_000,
  timeoutMs: 10_000,
  stallTimeoutMs: 15_000,
} as const;

// Whole runs against processes that wait for several time limits: quick on an idle machine, not on a busy one.
const patient = { timeout: 120_000, retry: 2 };

describe.concurrent("check-receiver against other receivers", patient, () => {
  const passing = async (receiver: RunningReceiver, options: { readonly oldSecret?: string } = {}) => {
    const { url, observeUrl } = receiver;
    const report = await auditReceiver({ url, secret, observeUrl, ...quick, ...options });
    expect(failedIds(report)).toEqual([]);
    expect(report.results.filter(({ outcome }) => outcome === "unfinished")).toEqual([]);
    expect([report.observed, exitCodeOf(report)]).toEqual([true, 0]);
    return report;
  };

  itWithPython("check-receiver passes a receiver in Python", async () => {
    await using receiver = await startPythonReceiver(secret, 2);
    await passing(receiver);
  });

  it("check-receiver passes the receiver of this kit, and skips no check", async () => {
    await using receiver = await startKitReceiver([secret, oldSecret], { bodyTimeoutMs: 2_000 });
    const { results } = await passing(receiver, { oldSecret });
    expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  });

  it("check-receiver names the check during which a receiver stopped accepting connections", async () => {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        if (body.startsWith("{")) return response.end();
        server.close();
        return server.closeAllConnections();
      });
    });
    const { url } = await serveReceiver(server);
    const only = ["bodies.not-an-event", "baseline.still-responding"];
    const report = await auditReceiver({ url, secret, only, ...quick });
    expect(report.stoppedDuring).toEqual(["bodies.not-an-event"]);
    // It verifies nothing, either.
    expect(failedIds(report)).toEqual(["signature.forged", ...only]);
    expect(exitCodeOf(report)).toBe(1);
  });
});
