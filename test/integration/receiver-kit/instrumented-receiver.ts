import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import {
  createReceiver,
  type ReceiverOptions,
  type WebhookRejectedError,
} from "@workspace-tasks/receiver-kit";
import { webhookMiddleware } from "@workspace-tasks/receiver-kit/express";
import type { Express } from "express";
import type { InboxStore } from "../../../receiver-kit/inbox/inbox.ts";
import { serveExpress } from "../../support/express-server.ts";
import { memoryInbox } from "../../support/inbox-stores.ts";
import type { ListeningServer } from "../../support/listen.ts";
import { nowSeconds } from "../../support/raw-http.ts";
import { countStates, FrozenClock } from "../../support/receiver-fixture.ts";
import { secretA, secretB } from "../../support/signed-delivery.ts";
import { overrideInbox } from "../../support/wrap-inbox.ts";

/** Both active, as during a rotation. */
export const instrumentedSecrets = [secretA, secretB] as const;
export const bodyBytesMax = 262_144;

export type Handled = { readonly id: string; readonly event: string; readonly stale: boolean };

/** A receiver on a real Express application and a memory inbox that records what it does. */
export class InstrumentedReceiver implements AsyncDisposable {
  readonly clock = new FrozenClock(nowSeconds * 1_000);
  readonly inbox: InboxStore;
  /** Methods that replace the inbox's own while they are set. */
  readonly faults: Partial<InboxStore> = {};
  readonly rejections: WebhookRejectedError[] = [];
  readonly handled: Handled[] = [];
  /** Status by task, as an application would keep it. */
  readonly states = new Map<string, string>();
  readonly log: string[] = [];
  inserts = 0;
  readonly receiver;
  #host: ListeningServer | undefined;

  private constructor(options: Partial<ReceiverOptions<unknown>>) {
    this.inbox = memoryInbox({ clock: this.clock });
    const faulty = overrideInbox(this.inbox, this.faults);
    const insert: InboxStore["insert"] = (row) => {
      this.inserts += 1;
      return faulty.insert(row);
    };
    const record = (level: string) => (fields: object, message: string) => {
      this.log.push(`${level} ${message} ${inspect(fields, { depth: 10, showHidden: true })}`);
    };
    this.receiver = createReceiver<unknown>({
      secrets: instrumentedSecrets,
      inbox: overrideInbox(faulty, { insert }),
      clock: this.clock,
      limits: { bodyBytesMax, bodyTimeoutMs: 10_000 },
      logger: { info: record("info"), warn: record("warn"), error: record("error") },
      onRejected: (rejection) => this.rejections.push(rejection),
      ...options,
    });
    this.receiver.on("*", (event, { id, stale }) => {
      this.handled.push({ id, event: event.event, stale });
    });
    this.receiver.onState("task", (event) => {
      this.states.set(event.taskId, event.status);
    });
  }

  static async start(
    options: Partial<ReceiverOptions<unknown>> = {},
    mount?: (app: Express, started: InstrumentedReceiver) => void,
  ): Promise<InstrumentedReceiver> {
    const started = new InstrumentedReceiver(options);
    await started.receiver.start();
    started.#host = await serveExpress((app) => {
      if (mount) mount(app, started);
      else app.all("/webhooks", webhookMiddleware(started.receiver));
    });
    return started;
  }

  get port(): number {
    return this.#host?.port ?? 0;
  }

  /** Resolves once no row waits or runs. */
  async settled(): Promise<ReturnType<typeof countStates>> {
    while ((await this.inbox.stats()).rows.waiting > 0) await pause(1);
    return countStates(this.inbox);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host?.[Symbol.asyncDispose]();
    await this.receiver.close();
  }
}
