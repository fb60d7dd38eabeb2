/** What became of a delivery so far; in this order they are stacked. */
export const deliveryOutcomes = ["delivered", "rejected", "waiting", "cancelled"] as const;
export type DeliveryOutcome = (typeof deliveryOutcomes)[number];

/** What became of a request, in the order in which they are stacked. */
export const requestResults = ["succeeded", "limited", "rejected", "faulty"] as const;
