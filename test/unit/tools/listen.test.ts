import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "@workspace-tasks/kernel/clock.ts";
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

it("waits for all runs together of which it is not known whether they still run", () =>
  withFolder(async (folder) => {
    const names = ["a", "b", "c"];
    for (const name of names) {
      await writeFile(join(folder, `${name}.json`), '{"baseUrl":"http');
      await writeFile(join(folder, `${name}.json.lock`), "");
    }
    const waiting: string[] = [];
    const looks: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      schedule(delayMs, run) {
        // The others are beats of locks.
        if (delayMs === 1_000) looks.push(run);
        if (waiting.length === names.length) for (const look of looks.splice(0)) setImmediate(look);
        return () => {};
      },
    };
    const options = { folder, clock, signal: new AbortController().signal };
    const owner = { baseUrl: "https://service.test", workspaceId: "w" };
    const onWait = (other: string) => waiting.push(other);
    await removeLeft(owner, {} as WebhookEndpoints, options, { onRemoved() {}, onWait });
    expect(await readdir(folder)).toEqual([]);
  }));
