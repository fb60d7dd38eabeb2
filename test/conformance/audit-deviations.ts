/** Audits of the GraphQL-over-HTTP specification that fail, and the rule that contradicts them. */
export const auditDeviations: Readonly<Record<string, string>> = {
  "5A70": "rule T4 rejects GET",
  D6D5: "rule T4 rejects GET",
  "6A70": "rule T4 rejects GET",
  "2EA1": "rule T3 rejects the `__type` field of its query; it passes with a query without introspection",
  "28B9": "rule T3 rejects the `__type` field of its query; it passes with a query without introspection",
};
