import type { AuditCheck } from "./check.ts";
import { refusedCheck } from "./probe-check.ts";

const postOnly = "Route POST only; answer other methods 405 with `Allow: POST`.";

export const methodChecks: readonly AuditCheck[] = [
  refusedCheck({
    id: "methods.get",
    requirement: "SHOULD",
    title: "refuses GET",
    sent: "a GET without a body",
    expected: "405 (or another 4xx)",
    mend: postOnly,
    shots: (target) => {
      const delivery = target.compose({ body: "" });
      return [{ delivery, options: { method: "GET", headers: [] } }];
    },
  }),
  refusedCheck({
    id: "methods.put",
    requirement: "SHOULD",
    title: "refuses signed deliveries by other methods than POST",
    sent: "rightly signed deliveries as PUT, PATCH and DELETE",
    expected: "405 (or another 4xx)",
    mend: postOnly,
    shots: (target) =>
      ["PUT", "PATCH", "DELETE"].map((method) => ({
        label: method,
        delivery: target.compose(),
        options: { method },
      })),
  }),
];
