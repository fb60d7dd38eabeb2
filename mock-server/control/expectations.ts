import type { ControlApi } from "./control-api.ts";
import type { DeliveryFilter, DeliverySummary, ExpectedDeliveries } from "./deliveries/delivery-routes.ts";
import type { ExpectedRequests, RecordedRequest, RequestFilter } from "./requests/request-routes.ts";

/** Real time that an expectation waits unless it says otherwise. */
export const expectationTimeoutMs = 1_000;

export function createExpectations(control: () => ControlApi) {
  return {
    async expectRequest(expected: ExpectedRequests = {}): Promise<RecordedRequest> {
      const { data } = await control().waitForRequests({ timeoutMs: expectationTimeoutMs, ...expected });
      return data[0] as RecordedRequest;
    },
    async expectDelivery(expected: ExpectedDeliveries = {}): Promise<DeliverySummary> {
      const { data } = await control().waitForDeliveries({ timeoutMs: expectationTimeoutMs, ...expected });
      return data[0] as DeliverySummary;
    },
    async expectNoRequest(expected: RequestFilter = {}): Promise<void> {
      await control().waitForRequests({ ...expected, times: 0 });
    },
    async expectNoDelivery(expected: DeliveryFilter = {}): Promise<void> {
      await control().waitForDeliveries({ ...expected, times: 0 });
    },
  };
}
