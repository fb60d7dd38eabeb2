// The mock follows every requirement (MUST) of GraphQL over HTTP, September 2026, and not these recommendations (SHOULD), which the
// audits, older than that text, do not ask for either: 294 for a response with data and errors (200, as the interface shows); 422
// for a document that is not valid, an operation that cannot be selected, and variables of the wrong type (400); and
// application/graphql-response+json without an Accept header (application/json, as the interface shows).

/** Audits of the GraphQL-over-HTTP specification that fail, and the rule that contradicts them. */
export const auditDeviations: Readonly<Record<string, string>> = {
  "5A70": "rule T4 rejects GET",
  D6D5: "rule T4 rejects GET",
  "6A70": "rule T4 rejects GET",
  "2EA1": "rule T3 rejects introspection",
  "28B9": "rule T3 rejects introspection",
};
