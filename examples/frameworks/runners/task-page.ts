// An application that shows tasks; the tests name the service that it calls.

import { createServer } from "node:http";
import { createClient } from "@workspace-tasks/sdk";

const server = createServer(async (request, response) => {
  if (request.url !== "/tasks") return response.end("home");
  const baseUrl = String(request.headers["x-api"]);
  const client = createClient({ baseUrl, apiKey: String(request.headers["x-key"]) });
  const tasks = await client.tasks.list().toArray();
  await client.close();
  return response.end(tasks.map(({ id, status }) => `${id}: ${status}`).join("\n"));
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
