import { createClient } from "@workspace-tasks/sdk";

export const client = createClient({ baseUrl: "" });
