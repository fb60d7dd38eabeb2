import call from "./call.js?raw";
import clock from "./clock.js?raw";
import delivery from "./delivery.js?raw";
import failingHandler from "./failing-handler.js?raw";
import fault from "./fault.js?raw";
import retry from "./retry.js?raw";
import signature from "./signature.js?raw";
import task from "./task.js?raw";

export interface Sample {
  readonly title: string;
  readonly code: string;
}

/** In the order of a first visit. */
export const samples: readonly Sample[] = [
  { title: "Call", code: call },
  { title: "Task", code: task },
  { title: "Delivery", code: delivery },
  { title: "Failing handler", code: failingHandler },
  { title: "Retry", code: retry },
  { title: "Clock", code: clock },
  { title: "Fault", code: fault },
  { title: "Signature", code: signature },
];
