import { createMockServer } from "workspace-tasks/mock-server";
import type { Measure, Series } from "../finding.ts";
import { registerEndpoint } from "../register-endpoint.ts";
import { type Spread, spreadOf } from "../samples.ts";
import { spread } from "../words.ts";

const endpointCounts = [1, 10, 100, 1_000];

export const measure: Measure = async ({ quick }) => {
  const deliveries = quick ? 1_000 : 10_000;
  const costs = new Map<number, number[]>(endpointCounts.map((count) => [count, []]));
  await fanOut(10, deliveries / 4);
  for (let round = 0; round < (quick ? 1 : 5); round++) {
    for (const count of endpointCounts) costs.get(count)?.push(await fanOut(count, deliveries));
  }
  const perDelivery = (count: number): Spread => spreadOf(costs.get(count) ?? []);
  const series: readonly Series[] = [
    { name: "µs per delivery", points: endpointCounts.map((count) => [count, perDelivery(count).median]) },
    {
      name: "µs per event",
      points: endpointCounts.map((count) => [count, perDelivery(count).median * count]),
    },
  ];
  return {
    title: "Growth: endpoints of one event",
    about:
      `The same ${deliveries.toLocaleString("en-US")} deliveries of the mock, from many events to one endpoint and from few events to a thousand: built, signed, handed ` +
      "to a receiver function in the same process, answered and recorded. µs of processor time.",
    goals: [],
    tables: [
      {
        columns: ["endpoints", "µs per delivery", "µs per event"],
        rows: endpointCounts.map((count) => {
          const { median, low, high } = perDelivery(count);
          const perEvent = { median: median * count, low: low * count, high: high * count };
          return [String(count), spread(perDelivery(count)), spread(perEvent)];
        }),
      },
    ],
    plots: [
      {
        name: "fan-out",
        title: "Fan-out of one event",
        x: "endpoints subscribed",
        y: "µs of processor time",
        series,
      },
    ],
    notes: [
      "An event costs in proportion to its endpoints; a single delivery costs about the same whether its event has one endpoint or a thousand.",
    ],
  };
};

async function fanOut(endpoints: number, deliveries: number): Promise<number> {
  const urls = Array.from({ length: endpoints }, (_, index) => `https://receiver-${index}.example/hook`);
  await using mock = await createMockServer({
    listen: false,
    clock: "virtual",
    receivers: new Map(urls.map((url) => [url, () => new Response(null, { status: 204 })])),
    settings: { rateLimit: { requests: 1_000_000 } },
  });
  for (const url of urls) await registerEndpoint(mock, url);
  const { clientId } = mock.admin.startTask({ taskType: "BINDER", progression: "manual" });
  await mock.clock.advance(1);
  const cpu = process.cpuUsage();
  for (let event = 0; event < deliveries / endpoints; event++) {
    mock.admin.startTask({ taskType: "BINDER", progression: "manual", clientId });
  }
  await mock.clock.advance(1);
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / deliveries;
}
