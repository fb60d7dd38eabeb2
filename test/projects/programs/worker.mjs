// The walk in workerd, the runtime of Cloudflare Workers.
import * as sdk from "@workspace-tasks/sdk";
import { walk } from "./walk.mjs";

export default {
  fetch: (request, env) =>
    new URL(request.url).pathname === "/walk"
      ? walk(sdk, env).then(
          (text) => new Response(text),
          (error) => new Response(`${error.stack}`, { status: 500 }),
        )
      : new Response("ready"),
};
