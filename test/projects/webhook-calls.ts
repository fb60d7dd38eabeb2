// What docs/recipes/http-frameworks.md promises of a receiver in every framework.
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sampleEvent } from "../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../support/signed-delivery.ts";
import type { Served } from "./project.ts";
import { attack } from "./stranger.ts";

interface Response {
  readonly status: number;
  readonly body: string;
}

const json = { "content-type": "application/json" };
const nowSeconds = () => Math.floor(Date.now() / 1000);

interface Recipe {
  /** Whether there is a route with a body parser. Default true. */
  readonly echo?: boolean | undefined;
  /** False where a body parser reads the deliveries: it keeps a list of the chunks of each. Default true. */
  readonly readsItself?: boolean | undefined;
}

export const receivesWebhooks =
  ({ echo = true, readsItself = true }: Recipe = {}) =>
  async ({ folder, origin, said }: Served): Promise<void> => {
    const url = `${origin}/webhooks`;
    // Parsed and written again, this body has other bytes.
    const event = sampleEvent({ clientName: "Müller & Söhne", amount: "1.0" });
    const body = JSON.stringify(event, null, 3).replace('"1.0"', "1.0");
    const { headers, body: bytes } = signDelivery({ body, timestampSeconds: nowSeconds() });
    const first = await post(url, { ...json, ...headers }, bytes);
    assert.deepEqual(first, { status: 200, body: '{"received":true}' });
    await said(new RegExp(`task ${event["taskId"]} is RUNNING`));
    assert.equal((await post(url, { ...json, ...headers }, bytes)).status, 200);
    // A later delivery is handled after a second run of the first would have been.
    const later = sampleEvent();
    assert.equal(await deliver(url, later), 200);
    await said(new RegExp(`task ${later["taskId"]} is RUNNING`));
    const [output] = await said(/[\s\S]*/);
    assert.equal(output.split(`task ${event["taskId"]}`).length, 2, "handled once");

    for (const type of ["application/cloudevents+json", "text/plain", "application/x-www-form-urlencoded"]) {
      const headers = { "content-type": type };
      assert.equal(await deliver(url, sampleEvent(), secretA, headers), 200, type);
    }
    assert.equal(await deliver(url, sampleEvent(), secretX), 401, "forged");
    assert.equal(await deliver(url, sampleEvent({ note: "x".repeat(900_000) })), 200, "900 KB");
    assert.equal(await deliver(url, sampleEvent({ note: "x".repeat(1_200_000) })), 413, "1.2 MB");
    assert.equal(await deliver(`${url}?a=1`, sampleEvent()), 200, "a path with a query");
    assert.equal(await deliver(`${origin}/other`, sampleEvent()), 404, "a delivery to another path");
    if (echo) {
      const sent = { text: "Zoë", list: [1, 2] };
      assert.deepEqual(JSON.parse((await post(`${origin}/echo`, json, JSON.stringify(sent))).body), sent);
    }

    if (readsItself) {
      const close = await attack(origin);
      assert.equal(await deliver(url, sampleEvent()), 200, "beside a stranger");
      close();
    }

    const inbox = join(folder, "webhooks.db");
    renameSync(inbox, `${inbox}.away`);
    const unstored = sampleEvent();
    assert.equal(await deliver(url, unstored), 503, "the store fails");
    renameSync(`${inbox}.away`, inbox);
    for (let tries = 100; (await deliver(url, unstored)) !== 200; tries--) {
      assert.ok(tries > 0, "the store works again");
      await pause(100);
    }
  };

/** Signs an event and sends it. Resolves with the status of the response. */
export async function deliver(
  url: string,
  event: object,
  secret = secretA,
  headers: object = {},
): Promise<number> {
  const signed = signDelivery({
    body: JSON.stringify(event, null, 2),
    timestampSeconds: nowSeconds(),
    secret,
  });
  return (await post(url, { ...json, ...signed.headers, ...headers }, signed.body)).status;
}

/** Sends a request on a connection of its own. Resolves with the response, also when it comes before the end of the body. */
function post(url: string, headers: object, body: string | Buffer): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent: false, headers: { ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
