import { mockTest } from "@workspace-tasks/mock-server/vitest";
import { expect } from "vitest";
import { canBeSent } from "../../../../../../mock-server/inspector/page/src/run/sent-query.ts";
import { jsonPost } from "../../../../../support/json-post.ts";

mockTest.for([
  '{ me(token: "wtk_0123456789") { __typename } }',
  `{ me { __typename } } # ${"long ".repeat(2_000)}`,
])(
  "the page finds the query that it sent in the journal, which redacts and cuts it: %s",
  async (query, { mock }) => {
    await mock.fetch("/graphql", jsonPost({ query }));
    const recorded = (await mock.control.listRequests()).data[0]?.query ?? null;
    expect(recorded).not.toBe(query);
    expect(canBeSent(recorded, query)).toBe(true);
    expect(canBeSent(recorded, "{ webhookEventCatalog { name } }")).toBe(false);
  },
);
