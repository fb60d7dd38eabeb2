// The inspector's page, whose mock is in a worker. The playground sends a new port whenever it starts a new worker.

import { setTransport } from "../../../mock-server/inspector/page/src/mock.ts";
import { createPortClient, type PortClient } from "../port.ts";
import { openActivity } from "./open-activity.ts";

let client: PortClient | undefined;
const connected = new Promise<void>((resolve) => {
  window.addEventListener("message", ({ source, origin, ports: [port] }) => {
    if (source !== window.parent || origin !== location.origin || !port) return;
    client?.close();
    client = createPortClient(port);
    resolve();
  });
});
await connected;
// Another world of the mock has no page of its own here.
document.addEventListener("click", (event) => {
  if ((event.target as Element).closest("a[href$='/_mock/']")) event.preventDefault();
});

const fetchOverPort = (url: URL | string, init: RequestInit) =>
  client?.fetch(String(url), init) ?? Promise.reject(new TypeError("there is no mock"));
setTransport({
  hasAddress: false,
  fetch: fetchOverPort,
  openStream: (url) => openActivity(() => fetchOverPort(new URL(url, `${location.origin}/_mock/`), {})),
});
await import("../../../mock-server/inspector/page/src/app.tsx");
