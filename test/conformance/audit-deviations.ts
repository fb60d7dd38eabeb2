/** Audits of the GraphQL-over-HTTP specification that cannot pass, and the rule that forbids what they ask. */
export const auditDeviations: Readonly<Record<string, string>> = {
  "5A70": "rule T4 refuses GET",
  D6D5: "rule T4 refuses GET",
  "6A70": "rule T4 refuses GET",
  "2EA1": "rule T3 refuses the `__type` field it asks for; it passes when it asks without introspection",
  "28B9": "rule T3 refuses the `__type` field it asks for; it passes when it asks without introspection",
};
