// Responses that a test gives in place of the service.

import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { createClient } from "@workspace-tasks/sdk";
import { expect } from "vitest";

mockTest("a client handles what the service has never sent", async ({ mock }) => {
  const { baseUrl, apiKey } = mock;
  await using client = createClient({ baseUrl, apiKey });
  // #region override
  // Part of the real response, once; invalid, because the schema has no role "owner".
  mock.override("me", { patch: { role: "owner" } }, { times: 1, invalid: true });
  expect(await client.me()).toMatchObject({ role: "owner" });

  // A function sees the request, and can run the operation.
  const override = mock.override("me", async ({ original, count }) => {
    if (count === 1) return { errors: [{ message: "Unauthorized", code: "FORBIDDEN" }] };
    return { data: await original() };
  });
  await expect(client.me()).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  expect(await client.me()).toMatchObject({ role: "admin" });
  expect(override.calls).toBe(2);
  override.remove();
  // #endregion
});
