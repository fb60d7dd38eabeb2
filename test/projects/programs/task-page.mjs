// An application that shows tasks. Address and key of the service come from its environment.
import { createServer } from "node:http";
import { createClient } from "@workspace-tasks/sdk";

const { WORKSPACE_TASKS_BASE_URL: baseUrl, WORKSPACE_TASKS_API_KEY: apiKey } = process.env;
const client = createClient({ baseUrl, apiKey });
const server = createServer(async (request, response) => {
  if (request.url !== "/tasks") return response.end("home");
  const tasks = await client.tasks.list().toArray();
  const items = tasks.map(({ id, type, status }) => `<li>${type} ${id}: ${status}</li>`);
  response.setHeader("content-type", "text/html");
  return response.end(`<h1>Tasks</h1><ul>${items.join("")}</ul>`);
});
server.listen(Number(process.env.PORT), "127.0.0.1");
