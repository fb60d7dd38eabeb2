import type { CheckTable } from "./check.ts";
import { shouldReject } from "./probe-check.ts";

const postOnly = {
  expected: "405 (or another 4xx)",
  fix: "Route POST only; respond to other methods with 405 and `Allow: POST`.",
};

export const methodChecks: CheckTable = {
  "methods.get": shouldReject({
    ...postOnly,
    title: "rejects GET",
    sent: "a GET without a body",
    probes: (target) => ({
      delivery: target.compose({ body: "" }),
      options: { method: "GET", headers: [] },
    }),
  }),
  "methods.put": shouldReject({
    ...postOnly,
    title: "rejects signed deliveries by other methods than POST",
    sent: "correctly signed deliveries as PUT, PATCH and DELETE",
    probes: (target) =>
      ["PUT", "PATCH", "DELETE"].map((method) => ({
        label: method,
        delivery: target.compose(),
        options: { method },
      })),
  }),
};
