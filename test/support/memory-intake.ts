import { type DeliverySink, ReceiverError } from "workspace-tasks/receiver-kit";
import type { IntakeFixture } from "workspace-tasks/receiver-kit/testing";

type Target = Pick<DeliverySink, "accept">;
type Message = Parameters<DeliverySink["accept"]>;

/** One promise that an intake does not keep. */
export type IntakeFault =
  | ("loses what the receiver rejects" | "acknowledges before the engine has it" | "changes the bytes")
  | ("forgets tenants" | "acknowledges to the engine before the receiver has it" | "ignores a lost confirm");

/** An intake whose engine is an array in this process. */
export async function createMemoryIntake(
  target: Target,
  fault?: IntakeFault,
): Promise<Required<IntakeFixture>> {
  let queue: Message[] = [];
  let isRunning = true;
  let losesConfirm = false;
  let consumer = 0;
  let isDisposed = false;

  const publish = async (message: Message) => {
    if (!isRunning) throw new ReceiverError("INBOX_UNAVAILABLE", "the engine is stopped");
    queue.push(message);
    if (losesConfirm) {
      losesConfirm = false;
      throw new ReceiverError("INBOX_UNAVAILABLE", "no confirm");
    }
  };
  const consume = async () => {
    consumer += 1;
    const own = consumer;
    while (own === consumer && !isDisposed) {
      await new Promise((resolve) => setImmediate(resolve));
      const [message] = queue;
      if (!message || !isRunning) continue;
      const [webhook, context] = message;
      if (fault === "acknowledges to the engine before the receiver has it") queue.shift();
      const body =
        fault === "changes the bytes" ? Buffer.from(Buffer.from(webhook.body).toString()) : webhook.body;
      const { tenant, ...others } = webhook;
      const passed = fault === "forgets tenants" ? others : { ...webhook };
      const isStored = await target.accept({ ...passed, body }, context).then(
        () => true,
        () => fault === "loses what the receiver rejects",
      );
      if (isStored && own === consumer) queue = queue.filter((other) => other !== message);
    }
  };
  void consume();

  return {
    intake: {
      async accept(...message) {
        const published = publish(message);
        const isIgnored =
          fault === "ignores a lost confirm" || fault === "acknowledges before the engine has it";
        await (isIgnored ? published.catch(() => {}) : published);
        return { outcome: "accepted" };
      },
    },
    async loseConfirm() {
      losesConfirm = true;
    },
    async killConsumer() {
      void consume();
    },
    async stopEngine() {
      isRunning = false;
      return async () => {
        isRunning = true;
      };
    },
    async reorder() {
      queue = [...queue.toReversed(), ...queue];
    },
    async [Symbol.asyncDispose]() {
      isDisposed = true;
    },
  };
}
