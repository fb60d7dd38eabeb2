import type { MockServer } from "../server.ts";
import { type SettingsChanges, withSettings } from "../settings/settings.ts";
import type { VirtualClock } from "../time/virtual-clock.ts";
import { createPacer, shareOf } from "./run/pacer.ts";
import type { RunOptions } from "./run/run-probes.ts";
import { createSender, type SenderOptions } from "./run/send-request.ts";
import { type Access, createSession } from "./run/session.ts";

/** Path of the URLs of a run on the mock. */
export const mockMark = "/workspace-tasks-compare/mock/";

/** What a run needs to send requests to a mock in this process. */
export function connectToMock(
  mock: MockServer,
  clock: VirtualClock,
  keys: Access["keys"],
  settings: SettingsChanges,
): RunOptions & Pick<SenderOptions, "fetch"> {
  const access: Access = { baseUrl: mock.baseUrl, gatewayUrl: mock.gatewayUrl, keys };
  const fetch = (url: string, init: RequestInit) => mock.fetch(url, init);
  const { signal } = new AbortController();
  const pacer = createPacer(clock, shareOf(withSettings(settings).rateLimit));
  const sender = createSender({ fetch, clock, pacer, writes: true, signal });
  const session = createSession(access, sender, clock);
  return { access, clock, fetch, sender, session, signal, mark: mockMark };
}
