// An endpoint, a receiver for its deliveries, and a task whose events arrive there.
const url = "https://receiver.example/webhooks";
const { signingSecret } = await client.webhooks.endpoints.create({ url });

const { clock } = mock;
const receiver = createReceiver({ secrets: [signingSecret], inbox: memoryInbox({ clock }), clock });
receiver.onState("task", ({ event, status }) => console.log(event, status));
await receiver.start();
receivers.set(url, receiver.fetch);

await mock.control.startTask({ taskType: "BINDER" });
await clock.advance("1h");
console.log("stored:", (await receiver.stats()).ingest.accepted);
