// A receiver that is down: the service repeats the delivery, with the same id and a new signature.
const url = "https://receiver.example/webhooks";
await client.webhooks.endpoints.create({ url, eventTypes: ["task.running"] });

let requests = 0;
receivers.set(url, (request) => {
  requests += 1;
  const status = requests < 3 ? 503 : 204;
  console.log(new Date(mock.clock.now()).toISOString(), request.headers.get("webhook-id"), status);
  return new Response(null, { status });
});

await mock.control.startTask({ taskType: "BINDER", progression: "manual" });
await mock.clock.advance("10m");
