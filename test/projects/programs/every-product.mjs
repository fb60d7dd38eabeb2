import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { createClient } from "@workspace-tasks/sdk";

const mock = await createMockServer();
const client = createClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
const receiver = createReceiver({ secrets: [`whsec_${"A".repeat(43)}=`], inbox: memoryInbox() });
await receiver.start();
console.log((await client.me()).__typename);
for (const each of [receiver, client, mock]) await each.close();
