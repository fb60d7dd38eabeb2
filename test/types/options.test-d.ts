// Options are often passed on: `{ pollMs: settings.pollMs }` may be undefined, also with exactOptionalPropertyTypes.
import { describe, expectTypeOf, it } from "vitest";
import type { MockServerOptions, OverrideOptions, VirtualClockOptions } from "workspace-tasks/mock-server";
import type {
  MemoryInboxOptions,
  ReceiverOptions,
  ReconcileOptions,
  RequestLimitOptions,
  RetentionOptions,
  RetryPolicy,
  VerifierOptions,
  VerifyOptions,
} from "workspace-tasks/receiver-kit";
import type { AuditOptions } from "workspace-tasks/receiver-kit/audit";
import type {
  DedupeWebhookOptions,
  OrderWebhookOptions,
  VerifyWebhookOptions,
} from "workspace-tasks/receiver-kit/express";
import type { PostgresInboxOptions } from "workspace-tasks/receiver-kit/postgres";
import type { RabbitmqConsumerOptions, RabbitmqIntakeOptions } from "workspace-tasks/receiver-kit/rabbitmq";
import type { SqliteInboxOptions } from "workspace-tasks/receiver-kit/sqlite";
import type {
  AppInfo,
  CallOptions,
  CreateClientOptions,
  ListTasksOptions,
  RateLimitOptions,
  RequestOptions,
  UploadOptions,
  WaitForTaskOptions,
} from "workspace-tasks/sdk";

/** Names of the options that may be left out and may not be undefined. */
type NeverUndefined<Options> = {
  [Name in keyof Options]-?: Record<never, never> extends Pick<Options, Name>
    ? undefined extends Required<Options>[Name]
      ? never
      : Name
    : never;
}[keyof Options];

describe("options that may be left out may be undefined", () => {
  it("in the SDK", () => {
    expectTypeOf<NeverUndefined<CreateClientOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<RateLimitOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<AppInfo>>().toBeNever();
    expectTypeOf<NeverUndefined<CallOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<RequestOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<ListTasksOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<UploadOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<WaitForTaskOptions>>().toBeNever();
  });

  it("in the receiver kit", () => {
    expectTypeOf<NeverUndefined<ReceiverOptions<unknown>>>().toBeNever();
    expectTypeOf<NeverUndefined<RetentionOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<RetryPolicy>>().toBeNever();
    expectTypeOf<NeverUndefined<RequestLimitOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<ReconcileOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<VerifierOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<VerifyOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<MemoryInboxOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<SqliteInboxOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<PostgresInboxOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<RabbitmqIntakeOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<RabbitmqConsumerOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<VerifyWebhookOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<DedupeWebhookOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<OrderWebhookOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<AuditOptions>>().toBeNever();
  });

  it("in the mock", () => {
    expectTypeOf<NeverUndefined<MockServerOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<OverrideOptions>>().toBeNever();
    expectTypeOf<NeverUndefined<VirtualClockOptions>>().toBeNever();
  });

  it("control: an option that may not is found", () => {
    expectTypeOf<
      NeverUndefined<{ readonly a?: number; readonly b?: string | undefined; c: 1 }>
    >().toEqualTypeOf<"a">();
  });
});
