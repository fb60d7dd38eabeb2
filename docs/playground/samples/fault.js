// The next call fails once with 503 and is repeated; then the service rejects each one.
await mock.control.addFaults({ api: [{ instructions: [{ kind: "status", status: 503 }] }] });
console.log("after a retry:", (await client.me()).role);

await mock.control.addFaults({
  api: [
    { chances: [{ probability: 1, fault: { kind: "graphql-error", message: "no", code: "FORBIDDEN" } }] },
  ],
});
await client.me();
