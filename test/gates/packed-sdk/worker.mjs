// The same walk in workerd, the runtime of Cloudflare Workers: a request starts it.
import * as sdk from "@workspace-tasks/sdk";
import { walk } from "./walk.mjs";

export default {
  fetch: (_request, env) =>
    walk(sdk, env).then(
      (text) => new Response(text),
      (error) => new Response(`${error.stack}`, { status: 500 }),
    ),
};
