// The next call fails once with 503, and is repeated. Then the service rejects every call.
const unavailable = { kind: "status", status: 503 };
await mock.control.addFaults({ api: [{ instructions: [unavailable] }] });
console.log("after a retry:", (await client.me()).role);

const forbidden = { kind: "graphql-error", code: "FORBIDDEN", message: "not a member" };
await mock.control.addFaults({ api: [{ chances: [{ probability: 1, fault: forbidden }] }] });
await client.me();
