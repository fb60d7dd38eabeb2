import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@workspace-tasks/kernel/clock.ts";
import type { WebhookEndpoints } from "@workspace-tasks/sdk";
import { expect, it } from "vitest";
import { removeLeft } from "../../../mock-server/tools/listen.ts";
import { withFolder } from "../../support/with-folder.ts";

it("keeps the record of another version, and forgets one that was cut short before its endpoint was created", () =>
  withFolder(async (folder) => {
    await writeFile(join(folder, "later.json"), JSON.stringify({ version: 2, endpoint: "known to it" }));
    await writeFile(join(folder, "short.json"), '{"baseUrl":"http');
    const owner = { baseUrl: "https://service.test", workspaceId: "w" };
    const options = { folder, clock: systemClock, signal: new AbortController().signal };
    // Neither record names an endpoint, so the service is not asked.
    await removeLeft(owner, {} as WebhookEndpoints, options, { onRemoved() {}, onWait() {} });
    expect(await readdir(folder)).toEqual(["later.json"]);
  }));
