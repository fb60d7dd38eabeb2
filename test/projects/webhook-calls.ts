// What docs/recipes/http-frameworks.md promises of a receiver in every framework.
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sampleEvent } from "../support/sample-event.ts";
import { secretA, secretX, signDelivery } from "../support/signed-delivery.ts";
import type { Served } from "./project.ts";

interface Response {
  readonly status: number;
  readonly body: string;
}

const json = { "content-type": "application/json" };
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** @param echo whether there is a route with a body parser */
export const receivesWebhooks =
  (echo = true) =>
  async ({ folder, origin, said }: Served): Promise<void> => {
    const deliver = (body: string, secret = secretA, headers: object = {}) => {
      const signed = signDelivery({ body, timestampSeconds: nowSeconds(), secret });
      return post(`${origin}/webhooks`, { ...json, ...signed.headers, ...headers }, signed.body);
    };

    // Parsed and written again, this body has other bytes.
    const event = sampleEvent({ clientName: "Müller & Söhne", amount: "1.0" });
    const body = JSON.stringify(event, null, 3).replace('"1.0"', "1.0");
    const { headers, body: bytes } = signDelivery({ body, timestampSeconds: nowSeconds() });
    const first = await post(`${origin}/webhooks`, { ...json, ...headers }, bytes);
    assert.deepEqual(first, { status: 200, body: '{"received":true}' });
    await said(new RegExp(`task ${event["taskId"]} is RUNNING`));
    assert.equal((await post(`${origin}/webhooks`, { ...json, ...headers }, bytes)).status, 200);
    // A later delivery is handled after a second run of the first would have been.
    const later = sampleEvent();
    assert.equal((await deliver(JSON.stringify(later))).status, 200);
    await said(new RegExp(`task ${later["taskId"]} is RUNNING`));
    const [output] = await said(/[\s\S]*/);
    assert.equal(output.split(`task ${event["taskId"]}`).length, 2, "handled once");

    for (const type of ["application/cloudevents+json", "text/plain", "application/x-www-form-urlencoded"]) {
      const { status } = await deliver(JSON.stringify(sampleEvent()), secretA, { "content-type": type });
      assert.equal(status, 200, type);
    }
    assert.equal((await deliver(JSON.stringify(sampleEvent()), secretX)).status, 401, "forged");
    const almost = await deliver(JSON.stringify(sampleEvent({ note: "x".repeat(900_000) })));
    assert.equal(almost.status, 200, "900 KB");
    const large = await deliver(JSON.stringify(sampleEvent({ note: "x".repeat(1_200_000) })));
    assert.equal(large.status, 413, "1.2 MB");
    const withQuery = signDelivery({ body: JSON.stringify(sampleEvent()), timestampSeconds: nowSeconds() });
    const queried = await post(`${origin}/webhooks?a=1`, { ...json, ...withQuery.headers }, withQuery.body);
    assert.equal(queried.status, 200, "a path with a query");
    const lost = signDelivery({ body: JSON.stringify(sampleEvent()), timestampSeconds: nowSeconds() });
    const other = await post(`${origin}/other`, { ...json, ...lost.headers }, lost.body);
    assert.equal(other.status, 404, "a delivery to another path");
    if (echo) {
      const sent = { text: "Zoë", list: [1, 2] };
      assert.deepEqual(JSON.parse((await post(`${origin}/echo`, json, JSON.stringify(sent))).body), sent);
    }

    const inbox = join(folder, "webhooks.db");
    renameSync(inbox, `${inbox}.away`);
    const unstored = JSON.stringify(sampleEvent());
    assert.equal((await deliver(unstored)).status, 503, "the store fails");
    renameSync(`${inbox}.away`, inbox);
    for (let tries = 100; (await deliver(unstored)).status !== 200; tries--) {
      assert.ok(tries > 0, "the store works again");
      await pause(100);
    }
  };

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
