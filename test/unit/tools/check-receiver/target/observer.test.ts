import { createServer } from "node:http";
import { expect, it } from "vitest";
import { createObserver } from "../../../../../mock-server/tools/check-receiver/target/observer.ts";
import { resolveAuditOptions } from "../../../../../mock-server/tools/check-receiver/target/options.ts";
import { secret } from "../../../../support/receivers/audit-fixture.ts";
import { serveReceiver } from "../../../../support/receivers/running-receiver.ts";

it("the observe URL may respond later than a delivery, and what it returns instead of JSON is no late response", async () => {
  const server = createServer((request, response) => {
    const count = request.url?.includes("unsent") ? 0 : 1;
    // Passing time is the subject: more than `timeoutMs`.
    setTimeout(
      () => response.end(request.url?.startsWith("/effects") ? JSON.stringify({ count }) : "no"),
      50,
    );
  });
  await using receiver = await serveReceiver(server);
  const { url, observeUrl } = receiver;
  const options = resolveAuditOptions({
    url,
    secret,
    observeUrl,
    timeoutMs: 10,
    observeSettleMs: 1,
    observeTimeoutMs: 100,
  });
  const observer = await createObserver(observeUrl, options, "sent", "unsent");
  expect(await observer.effectsOf(["sent", "unsent"])).toEqual([1, 0]);
  const wrong = createObserver(url, options, "sent", "unsent");
  await expect(wrong).rejects.toThrow("the observe URL did not return a JSON object");
});
