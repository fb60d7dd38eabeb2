// What a receiver checks: three headers, and each byte of the body.
const url = "https://receiver.example/webhooks";
const { signingSecret } = await client.webhooks.endpoints.create({ url, eventTypes: ["task.running"] });
const verifier = createVerifier({ secrets: [signingSecret], clock: mock.clock });

receivers.set(url, async (request) => {
  const { headers } = request;
  console.log("signature:", headers.get("webhook-signature"));
  const body = new Uint8Array(await request.arrayBuffer());
  console.log("verified:", (await verifier.verify(body, headers)).id === headers.get("webhook-id"));

  body[body.length - 2] ^= 1;
  await verifier.verify(body, headers).catch((error) => console.log("one bit changed:", error.code));
  return new Response(null, { status: 204 });
});

await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
await mock.clock.advance("1s");
