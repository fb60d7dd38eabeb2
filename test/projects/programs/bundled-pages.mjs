// Pages are files of the packages: in a bundle both say so.
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { inboxPage } from "@workspace-tasks/receiver-kit/page";

async function main() {
  const secrets = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`];
  const receiver = createReceiver({ secrets, inbox: memoryInbox() });
  try {
    inboxPage(receiver, { authorize: () => true });
  } catch (error) {
    console.log(`${error.code} ${error.message}`);
  }
  const mock = await createMockServer();
  const response = await fetch(`${mock.baseUrl}/_mock/`);
  console.log(`${response.status} ${await response.text()}`);
  await mock.close();
}

void main();
