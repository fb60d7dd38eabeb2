import { type Audit, serverAudits } from "graphql-http";
import { describe, expect, it } from "vitest";
import { auditDeviations } from "./audit-deviations.ts";
import { useService } from "./harness.ts";

// The audits of the GraphQL-over-HTTP specification that graphql-http publishes: on the base router over HTTP, and on the gateway
// in process. Five cannot pass, because a rule of the service forbids what they ask.

const service = useService();

type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

/** The audits' question about variables, asked with a query that needs no introspection. */
const withoutIntrospection =
  (next: Fetch): Fetch =>
  (input, init) => {
    const body = String(init?.body);
    if (!body.includes("__type(")) return next(input, init);
    const query = "query Type($name: Boolean!) { __typename @include(if: $name) }";
    return next(input, { ...init, body: JSON.stringify({ query, variables: { name: true } }) });
  };

async function outcome(audit: Audit | undefined): Promise<string> {
  if (!audit) throw new Error("there is no such audit");
  const result = await audit.fn();
  return result.status === "ok" ? "ok" : `${result.status}: ${result.reason}`;
}

const inProcess: Fetch = (input, init) => service.mock.fetch(input, init);

describe.each([
  ["base router over HTTP", () => service.baseUrl, fetch as Fetch],
  ["gateway in process", () => service.gatewayUrl, inProcess],
])("T1 graphql-http audits of the %s", (_, baseUrl, fetchFn) => {
  // The URL is asked for at each call: the service starts after the tests have been named.
  const auditsBy = (use: Fetch) => serverAudits({ url: () => `${baseUrl()}/graphql`, fetchFn: use });
  const audits = auditsBy(fetchFn);

  it.each(audits.filter(({ id }) => !(id in auditDeviations)))(
    "T1 the audit $id passes: $name",
    async (audit) => {
      expect(await outcome(audit)).toBe("ok");
    },
  );

  it.each(Object.entries(auditDeviations))("T1 the audit %s fails because %s", async (id) => {
    expect(await outcome(audits.find((audit) => audit.id === id))).not.toBe("ok");
  });

  it.each(["2EA1", "28B9"])("T1 the audit %s passes with a query without introspection", async (id) => {
    const asked = auditsBy(withoutIntrospection(fetchFn));
    expect(await outcome(asked.find((audit) => audit.id === id))).toBe("ok");
  });
});
