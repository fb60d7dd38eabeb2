// SIGTERM while something is missing, silent or full: the process of a user ends by itself, in time.

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundledProgram } from "../../support/bundled-program.ts";
import { atDepth } from "../../support/depth.ts";
import { createFreezingProxy, type FreezingProxy } from "../../support/freezing-proxy.ts";
import { RabbitmqCluster } from "../../support/rabbitmq.ts";
import { RunningProgram } from "../../support/running-program.ts";
import { describeWithRabbitmq } from "../../support/with-rabbitmq.ts";

const program = fileURLToPath(new URL("./rabbitmq-program.ts", import.meta.url));
const shard = "workspace-tasks.v1.s0of2";
const by = `<<"operator">>`;
const all = `<<".*">>, <<".*">>, <<".*">>`;
const closeConnections = `[rabbit_networking:close_connection(Pid, ${by}) || Pid <- rabbit_networking:connections()]`;

let cluster: RabbitmqCluster;
let vhosts = 0;
const evaluate = (expression: string) => cluster.evaluate(0, expression);

const setMemory = (share: string) => evaluate(`vm_memory_monitor:set_vm_memory_high_watermark(${share})`);

interface World {
  readonly vhost: string;
  readonly user: string;
  readonly proxy: FreezingProxy;
  readonly process: RunningProgram;
}

/** What the process may declare no more, so that it stays away. */
const keepAway = ({ user, vhost }: World) =>
  `rabbit_auth_backend_internal:set_permissions(${user}, ${vhost}, <<"^$">>, <<".*">>, <<".*">>, ${by})`;
const deleteQueue = (world: World, name: string) =>
  evaluate(`${keepAway(world)},
    {ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(${world.vhost}, queue, <<"${name}">>)),
    rabbit_amqqueue:delete(Queue, false, false, ${by})`);

const faults: Readonly<Record<string, (world: World) => unknown>> = {
  "nothing is missing": () => {},
  "a queue is missing": (world) => deleteQueue(world, `${shard}.p0`),
  "the exchange of a shard is missing": (world) =>
    evaluate(`${keepAway(world)},
      rabbit_exchange:delete(rabbit_misc:r(${world.vhost}, exchange, <<"${shard}">>), false, ${by})`),
  "the parking queue is missing": (world) => deleteQueue(world, "workspace-tasks.parked"),
  "the virtual host is missing": ({ vhost }) => evaluate(`rabbit_vhost:delete(${vhost}, ${by})`),
  "permissions are missing": ({ user, vhost }) =>
    evaluate(`rabbit_auth_backend_internal:clear_permissions(${user}, ${vhost}, ${by}),
      ${closeConnections}`),
  "the user is missing": ({ user }) =>
    evaluate(`rabbit_auth_backend_internal:delete_user(${user}, ${by}), ${closeConnections}`),
  "user and virtual host are missing": ({ user, vhost }) =>
    evaluate(`rabbit_vhost:delete(${vhost}, ${by}),
      rabbit_auth_backend_internal:delete_user(${user}, ${by})`),
  "the network is silent": ({ proxy }) => proxy.freezeAll(),
  "the broker is down": ({ proxy }) => proxy[Symbol.asyncDispose](),
  "the inbox hangs": ({ process }) => process.signal("SIGUSR2"),
  "RabbitMQ is short of memory": () => setMemory("0.0001"),
};

describeWithRabbitmq("on SIGTERM a process with intake and consumer ends within 3 s", () => {
  beforeAll(async () => {
    cluster = await RabbitmqCluster.start();
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const quick = ["a queue is missing", "the inbox hangs"];
  it.each(atDepth(quick, Object.keys(faults)))(
    "while %s",
    async (name) => {
      vhosts += 1;
      const [vhost, user] = [`<<"v${vhosts}">>`, `<<"u${vhosts}">>`];
      await evaluate(`rabbit_vhost:add(${vhost}, ${by}),
      rabbit_auth_backend_internal:add_user(${user}, <<"secret">>, ${by}),
      rabbit_auth_backend_internal:set_permissions(${user}, ${vhost}, ${all}, ${by})`);
      await using proxy = await createFreezingProxy(cluster.portOf(0));
      const url = `amqp://u${vhosts}:secret@127.0.0.1:${proxy.port}/v${vhosts}`;
      using process = new RunningProgram([...(await bundledProgram(program)), url]);
      await process.said(/consuming/);
      await faults[name]?.({ vhost, user, proxy, process });
      // The process has met it, in the middle of its retries.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const startedMs = performance.now();
      process.signal("SIGTERM");
      expect(await process.ended()).toMatchObject({ code: 0 });
      // 13 s and more without the end of each wait; a busy machine takes some seconds.
      expect(performance.now() - startedMs).toBeLessThan(8_000);
      if (/memory/.test(name)) await setMemory("0.4");
    },
    120_000,
  );
});
