// Options are often passed on: `{ pollMs: settings.pollMs }` may be undefined, also with exactOptionalPropertyTypes.

import type { MockServerOptions, OverrideOptions, VirtualClockOptions } from "@workspace-tasks/mock-server";
import type {
  MemoryInboxOptions,
  ReceiverOptions,
  ReconcileOptions,
  RequestLimitOptions,
  RetentionOptions,
  RetryPolicy,
  VerifierOptions,
  VerifyOptions,
} from "@workspace-tasks/receiver-kit";
import type {
  DedupeWebhookOptions,
  OrderWebhookOptions,
  VerifyWebhookOptions,
} from "@workspace-tasks/receiver-kit/express";
import type { PostgresInboxOptions } from "@workspace-tasks/receiver-kit/postgres";
import type { SqliteInboxOptions } from "@workspace-tasks/receiver-kit/sqlite";
import type { RabbitmqConsumerOptions, RabbitmqIntakeOptions } from "@workspace-tasks/receiver-rabbitmq";
import type {
  CallOptions,
  CreateClientOptions,
  ListTasksOptions,
  RateLimitOptions,
  RequestOptions,
  UploadOptions,
  WaitForTaskOptions,
} from "@workspace-tasks/sdk";
import { describe, expectTypeOf, it } from "vitest";
import type { AuditOptions } from "workspace-tasks/check-receiver";

/** Names of the options that may be left out and may not be undefined. */
type NeverUndefined<Options> = {
  [Name in keyof Options]-?: Record<never, never> extends Pick<Options, Name>
    ? undefined extends Required<Options>[Name]
      ? never
      : Name
    : never;
}[keyof Options];

type NeverUndefinedInAny<All extends readonly unknown[]> = {
  [Index in keyof All]: NeverUndefined<All[Index]>;
}[number];

describe("options that may be left out may be undefined", () => {
  it("options of the SDK may be undefined", () => {
    expectTypeOf<
      NeverUndefinedInAny<
        [
          ...[CreateClientOptions, RateLimitOptions, CallOptions, RequestOptions],
          ...[ListTasksOptions, UploadOptions, WaitForTaskOptions],
        ]
      >
    >().toBeNever();
  });

  it("options of the receiver kit may be undefined", () => {
    expectTypeOf<
      NeverUndefinedInAny<
        [
          ...[ReceiverOptions<unknown>, RetentionOptions, RetryPolicy, RequestLimitOptions, ReconcileOptions],
          ...[
            VerifierOptions,
            VerifyOptions,
            VerifyWebhookOptions,
            DedupeWebhookOptions,
            OrderWebhookOptions,
          ],
          ...[MemoryInboxOptions, SqliteInboxOptions, PostgresInboxOptions],
          ...[RabbitmqIntakeOptions, RabbitmqConsumerOptions, AuditOptions],
        ]
      >
    >().toBeNever();
  });

  it("options of the mock may be undefined", () => {
    expectTypeOf<
      NeverUndefinedInAny<[MockServerOptions, OverrideOptions, VirtualClockOptions]>
    >().toBeNever();
  });

  it("the check finds an option that may not be undefined", () => {
    expectTypeOf<
      NeverUndefinedInAny<[{ readonly a?: number; readonly b?: string | undefined; c: 1 }]>
    >().toEqualTypeOf<"a">();
  });
});
