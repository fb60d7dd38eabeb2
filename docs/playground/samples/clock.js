// Two days pass at once; the token has expired meanwhile, and the client gets a new one.
console.log("now:", new Date(mock.clock.now()).toISOString());
await client.me();

await mock.clock.advance("2d");
console.log("later:", new Date(mock.clock.now()).toISOString());
console.log("still a member:", (await client.me()).role);

const { data } = await mock.control.listRequests();
for (const { operations, status } of data) console.log(...operations, status);
