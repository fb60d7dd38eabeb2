import type { TroubledMock } from "./troubled-mock.ts";

/** Where a question is answered, and a text of the answer. */
export interface Question {
  readonly hash: string;
  readonly shows: string | RegExp;
}

/** The ten questions that one look at a picture answers. */
export async function questionsOf({ mock, urls }: TroubledMock): Promise<Readonly<Record<string, Question>>> {
  const { data: endpoints } = await mock.control.listEndpoints();
  const idOf = (url: string) => endpoints.find((endpoint) => endpoint.url === url)?.id ?? "";
  const { data } = await mock.control.listDeliveries({
    endpointId: idOf(urls["/unauth"]),
    lastResponse: "401",
  });
  // The oldest was attempted most often.
  const [first] = data.toReversed();
  const delivery = `#/deliveries/${first?.id}`;
  return {
    "which-endpoint-fails": { hash: "#/endpoints", shows: "failing" },
    "since-when": { hash: `#/endpoints/${idOf(urls["/unauth"])}`, shows: /401 since/ },
    "with-what-response": { hash: delivery, shows: '{"error":"unknown signature"}' },
    "what-is-next": { hash: "#/overview", shows: /× attempt \d/ },
    "what-changed": { hash: delivery, shows: /^[-+]webhook-timestamp/ },
    "slow-requests": { hash: "#/requests?sort=-took", shows: /^1\.[2-9]\d* s$/ },
    "limited-requests": { hash: "#/requests?result=limited", shows: /^limited$/ },
    "last-fault": { hash: "#/faults", shows: /^Fired \(/ },
    "which-task": { hash: delivery, shows: first?.taskId ?? "" },
    "what-time": { hash: "#/overview", shows: /\d\d-\d\d \d\d:\d\d:\d\d/ },
  };
}
