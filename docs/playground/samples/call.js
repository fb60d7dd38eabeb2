// A call of the client. Its token, its rate limit and its retries are the client's business.
const me = await client.me();
console.log("role:", me.role);

await client.taxClients.create({
  name: "Ada Lovelace",
  externalId: "client-1",
  returnType: "F1040",
  taxYear: 2025,
});
for await (const taxClient of client.taxClients.list()) {
  console.log("client:", taxClient.name);
}
