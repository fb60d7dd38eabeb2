// A handler that fails runs again later. The delivery was acknowledged before: the service does not send it again.
const url = "https://receiver.example/webhooks";
const { signingSecret } = await client.webhooks.endpoints.create({ url, eventTypes: ["task.completed"] });

const { clock } = mock;
const receiver = createReceiver({ secrets: [signingSecret], inbox: memoryInbox({ clock }), clock });
receiver.on("task.completed", (_event, { attempt }) => {
  console.log("attempt", attempt);
  if (attempt < 3) throw new Error("the database is locked");
});
await receiver.start();
receivers.set(url, receiver.fetch);

await mock.control.startTask({ taskType: "BINDER" });
for (let minute = 0; minute < 3; minute++) await clock.advance("1m");
