// What this package needs of amqplib, and its errors as what to do about them. amqplib's own recovery is not used: it knows
// one node, and a second owner of a retry multiplies it.

import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isReceiverError, ReceiverError } from "@workspace-tasks/receiver-kit";
import type { ChannelModel, connect } from "amqplib";

type Amqplib = Pick<typeof import("amqplib"), "connect">;
export type AmqpConnect = (...args: Parameters<typeof connect>) => Promise<ChannelModel>;

/** amqplib's own, which is loaded at the first connection. */
export const connectAmqplib: AmqpConnect = async (...args) => (await loadAmqplib()).connect(...args);

async function loadAmqplib(): Promise<Amqplib> {
  try {
    const module = (await import("amqplib")) as Amqplib & { readonly default?: Amqplib };
    return module.default ?? module;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A package that amqplib imports can be missing too.
    const isMissing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? "") && /'amqplib'/.test(message);
    if (isMissing) throw setupError("the package amqplib is not installed; try: npm install amqplib");
    throw setupError(`the package amqplib cannot be loaded: ${message}`, error);
  }
}

/** Closes the socket at once: a connection whose other end is silent cannot be closed by exchanging messages. */
export function destroy({ connection }: ChannelModel): void {
  // The types do not show it.
  (connection as { stream?: { destroy?(): void } }).stream?.destroy?.();
}

/** The broker does not know what this process takes for granted. */
export const isContradiction = (error: unknown) => [403, 404, 406].includes(codeOf(error));

const codeOf = (error: unknown) => Number((error as { code?: unknown } | null | undefined)?.code);

const setupError = (text: string, cause?: unknown) =>
  new ReceiverError("BROKER_SETUP_INVALID", `rabbitmq: ${text}`, { cause });

export const isSetupError = (error: unknown) => isReceiverError(error, "BROKER_SETUP_INVALID");

const remedies: Readonly<Record<number, string>> = {
  403: "the user of the URL has no permission for it: rabbitmqctl set_permissions",
  404: "it does not exist; it is declared unless declare is false",
  406: "it exists with other arguments, which cannot be changed: raise version, and consume the queues of the former one until they are empty",
  503: "enable the plugin: rabbitmq-plugins enable rabbitmq_consistent_hash_exchange",
};

/** What the broker rejects however often it is tried says what to do about it; anything else is passed on. */
export function explain(name: string, error: unknown): unknown {
  if (!isError(error) || isReceiverError(error)) return error;
  const { message } = error;
  // Also the code of an acknowledgement that is late.
  let remedy = /acknowledgement.*timed out/.test(message) ? undefined : remedies[codeOf(error)];
  // Some have no code.
  if (/unknown exchange type|COMMAND_INVALID/.test(message)) remedy = remedies[503];
  if (/handshake.*ACCESS.REFUSED/is.test(message)) remedy = "correct the user and the password of the URL";
  if (/ConnectionOpenOk/.test(message))
    remedy = "create the virtual host of the URL, and give its user permissions there";
  return remedy === undefined ? error : setupError(`${name}: ${remedy} (${message})`, error);
}
