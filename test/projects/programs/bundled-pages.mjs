// The page of the inbox is in each bundle; the inspector is files of its package, and says so.
import { createMockServer } from "@workspace-tasks/mock-server";
import { createReceiver, memoryInbox } from "@workspace-tasks/receiver-kit";
import { inboxPage } from "@workspace-tasks/receiver-kit/page";

async function main() {
  const secrets = [`whsec_${Buffer.alloc(32, 1).toString("base64")}`];
  const receiver = createReceiver({ secrets, inbox: memoryInbox() });
  const page = inboxPage(receiver, { authorize: () => true });
  const inbox = await page.fetch(new Request("http://127.0.0.1/"));
  const [script] = /assets\/[^"]+\.js/.exec(await inbox.text()) ?? [];
  const loaded = await page.fetch(new Request(`http://127.0.0.1/${script}`));
  console.log(`${inbox.status} ${loaded.status} ${(await loaded.text()).length > 10_000}`);
  const mock = await createMockServer();
  const response = await fetch(`${mock.baseUrl}/_mock/`);
  console.log(`${response.status} ${await response.text()}`);
  await mock.close();
}

void main();
