// A client behind an HTTP proxy.

// #region proxy
import { createClient } from "@workspace-tasks/sdk";
import { ProxyAgent, fetch as undiciFetch } from "undici";

const dispatcher = new ProxyAgent(process.env["HTTPS_PROXY"] ?? "http://proxy.internal:3128");
const client = createClient({
  baseUrl: process.env["WORKSPACE_TASKS_BASE_URL"] ?? "http://127.0.0.1:4010",
  apiKey: process.env["WORKSPACE_TASKS_API_KEY"],
  fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
});
// #endregion

const me = await client.me();
console.log(me.__typename);
await client.close();
await dispatcher.close();
