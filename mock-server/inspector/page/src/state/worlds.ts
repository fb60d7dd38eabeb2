import { createControlClient } from "@workspace-tasks/mock-server/control";
import { transport } from "./transport.ts";

// A named world has the page at `/w/{name}/_mock/`; only the mock's own control API knows all worlds.

const place = /^(.*?)(?:\/w\/([^/]+))?\/_mock\//.exec(location.pathname);

/** `undefined` in the mock's own world. */
export const worldName = place?.[2];

/** Where the mock's own world is served. */
export const mockUrl = `${location.origin}${place?.[1] ?? ""}`;

/** The control API of the mock's own world. */
export const mockControl = createControlClient({ baseUrl: mockUrl, fetch: transport.fetch });

/** Where the world of this page is served. */
export const worldUrl = worldName === undefined ? mockUrl : `${mockUrl}/w/${worldName}`;
