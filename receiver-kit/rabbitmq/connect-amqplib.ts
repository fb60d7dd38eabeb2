import { ReceiverError } from "@workspace-tasks/receiver-kit";
import type { AmqpChannel, AmqpConnect, AmqpConnection } from "./amqp.ts";

type Amqplib = Pick<typeof import("amqplib"), "connect">;

/** Connects with amqplib, which is loaded at the first connection. */
export const connectAmqplib: AmqpConnect = async (
  url,
  { timeoutMs, heartbeatSeconds, socketOptions },
): Promise<AmqpConnection> => {
  const { connect } = await loadAmqplib();
  const target = new URL(url);
  target.searchParams.set("heartbeat", String(heartbeatSeconds));
  const options = { noDelay: true, keepAlive: true, ...socketOptions, timeout: timeoutMs };
  const model = await connect(target.href, options);
  return {
    createConfirmChannel: () => model.createConfirmChannel() as Promise<AmqpChannel>,
    close: () => model.close(),
    destroy(error) {
      // Only the socket itself can be closed without the other end; the types do not show it.
      (model.connection as { stream?: { destroy?(error: Error): void } }).stream?.destroy?.(error);
    },
    on: (event: string, listener: (...values: never[]) => void) => model.on(event, listener as () => void),
  };
};

async function loadAmqplib(): Promise<Amqplib> {
  try {
    const module = (await import("amqplib")) as Amqplib & { readonly default?: Amqplib };
    return module.default ?? module;
  } catch (error) {
    throw new ReceiverError("BROKER_SETUP_INVALID", ...whyNotLoaded(error));
  }
}

function whyNotLoaded(error: unknown): [message: string, options?: ErrorOptions] {
  const { code, message } = error as NodeJS.ErrnoException;
  // A package that amqplib imports can be missing too.
  const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? "") && /'amqplib'/.test(message);
  if (isMissing) return ["rabbitmq: the package amqplib is not installed; try: npm install amqplib"];
  return [`rabbitmq: the package amqplib cannot be loaded: ${message}`, { cause: error }];
}
