import type { Filter } from "@workspace-tasks/page-parts/route.ts";
import { pollAfterAction } from "@workspace-tasks/page-parts/state.ts";
import type {
  Action,
  ActionResult,
  ErrorList,
  EventDetail,
  EventSummary,
  Overview,
  Page,
  Preview,
  TaskEvents,
} from "@workspace-tasks/receiver-kit/parts";

export type ActionName = "replay" | "discard";

/** An action without the token is refused; a page of another origin cannot read it. */
let token = "";

export const api = {
  async overview() {
    const overview = await get<Overview>("overview");
    token = overview.token;
    return overview;
  },
  /** A page has at most 200 events. `failing` is a state of the page alone: waiting, and the last attempt failed. */
  async events(query: Filter) {
    const page = await get<Page<EventSummary>>("events", { limit: "200", ...stored(query) });
    if (query["state"] !== "failing") return page;
    return { ...page, data: page.data.filter(({ lastError }) => lastError !== null) };
  },
  errors: () => get<ErrorList>("errors"),
  task: (task: string) => get<TaskEvents>("task", { task }),
  event: (source: string, id: string) => get<EventDetail>("event", { source, id }),
  count: (action: ActionName, filter: Filter) => get<Preview>("count", { ...stored(filter), action }),
  act: (name: ActionName, given: Action) => {
    const action = "filter" in given ? { ...given, filter: stored(given.filter) } : given;
    return call<ActionResult>(name, {
      method: "POST",
      headers: { "content-type": "application/json", "x-page-token": token },
      body: JSON.stringify(action),
    }).finally(pollAfterAction);
  },
};

/** The filter as the server knows it: `failing` is `pending`, and a range of the histogram has other names. */
function stored({ from = "", to = "", ...filter }: Filter): Filter {
  const range = { ...(from && { since: from }), ...(to && { until: to }) };
  return { ...filter, ...(filter["state"] === "failing" && { state: "pending" }), ...range };
}

const get = <Answer>(path: string, query: Filter = {}) =>
  call<Answer>(`${path}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))}`);

/** The server reads a bounded number of rows for each answer. */
const timeoutMs = 30_000;

async function call<Answer>(path: string, init: RequestInit = {}): Promise<Answer> {
  // The page may be at `/inbox` or `/inbox/`.
  const url = new URL(`api/${path}`, `${location.origin}${location.pathname.replace(/\/?$/, "/")}`);
  const options = { redirect: "manual", signal: AbortSignal.timeout(timeoutMs), ...init } as const;
  const response = await fetch(url, options).catch((error) => {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    throw isLate
      ? new CallError("REQUEST_TIMEOUT", `no response within ${timeoutMs / 1_000} s`)
      : new CallError("NETWORK_FAILED", "no response");
  });
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  throw new CallError(
    answer?.error?.code ?? "RESPONSE_INVALID",
    answer?.error?.message ??
      `a response ${response.status || "that leads elsewhere"} that is not of the inbox; load the page again if its login has ended`,
  );
}

/** The code is the server's, or one of those above. */
class CallError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
