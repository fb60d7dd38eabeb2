// What this package needs of amqplib, and its errors as what to do about them. amqplib's own recovery is not used: it knows
// one node, and a second owner of a retry multiplies it.

import { isError } from "@workspace-tasks/kernel/realm.ts";
import { isReceiverError, ReceiverError } from "@workspace-tasks/receiver-kit";
import type { ChannelModel, connect } from "amqplib";

type Amqplib = Pick<typeof import("amqplib"), "connect">;
export type AmqpConnect = (...args: Parameters<typeof connect>) => Promise<ChannelModel>;

/** amqplib's own, which is loaded at the first connection. */
export const connectAmqplib: AmqpConnect = async (...args) => {
  const module = await (import("amqplib") as Promise<Amqplib & { readonly default?: Amqplib }>).catch(
    (error) => {
      const { message } = error as Error;
      // A package that amqplib imports can be missing too.
      const isMissing = /'amqplib'/.test(message);
      throw isMissing
        ? setupError("the package amqplib is not installed; try: npm install amqplib")
        : setupError(`the package amqplib cannot be loaded: ${message}`, error);
    },
  );
  return (module.default ?? module).connect(...args);
};

const setupError = (text: string, cause?: unknown) =>
  new ReceiverError("BROKER_SETUP_INVALID", `rabbitmq: ${text}`, { cause });

/** It is rejected however often it is tried. */
export const isRejection = (error: unknown) =>
  isReceiverError(error, "BROKER_SETUP_INVALID") || isReceiverError(error, "CONFIGURATION_INVALID");

/** What to do about an error, by its code; by its text where it has no code, or one of several errors. */
const remedies: readonly (readonly [number | RegExp, string | undefined])[] = [
  [/acknowledgement.*timed out/, undefined],
  [/handshake.*ACCESS.REFUSED/is, "correct the user and the password of the URL"],
  [/ConnectionOpenOk/, "create the virtual host of the URL, and give its user permissions there"],
  [
    /unknown exchange type|COMMAND_INVALID/,
    "enable the plugin: rabbitmq-plugins enable rabbitmq_consistent_hash_exchange",
  ],
  [403, "the user of the URL has no permission for it: rabbitmqctl set_permissions"],
  [404, "it does not exist; it is declared unless declare is false"],
  [
    406,
    "it exists with other arguments, which cannot be changed: raise version, and consume the queues of the former one until they are empty",
  ],
];

/** What the broker rejects however often it is tried says what to do about it; anything else is passed on. */
export function explain(name: string, error: unknown): unknown {
  if (!isError(error) || isReceiverError(error)) return error;
  const { message } = error;
  const code = Number((error as { readonly code?: unknown }).code);
  const [, remedy] =
    remedies.find(([key]) => (typeof key === "number" ? key === code : key.test(message))) ?? [];
  return remedy === undefined ? error : setupError(`${name}: ${remedy} (${message})`, error);
}
