import { FailureError, toError } from "../../sdk/call/failure.ts";
import type { Operation } from "../../sdk/call/operation.ts";
import {
  type Call,
  createEngine,
  type Engine,
  toCall,
  type WorkspaceToken,
} from "../../sdk/engine/engine.ts";
import { type CallOptions, type CreateClientOptions, resolveOptions } from "../../sdk/options.ts";
import { createFakeService, type FakeService, type FakeServiceOptions } from "./fake-service.ts";
import { type Legs, seeded, withLatency } from "./latency.ts";
import { busiest } from "./limited-service.ts";

/** An engine as a test uses it: calls are promises of plain data, and tokens need no scope. */
export interface TestEngine extends Pick<Engine, "rateLimitSnapshot" | "close"> {
  execute<Data, Variables>(
    operation: Operation<Data, Variables>,
    variables: Variables,
    options?: CallOptions,
  ): Call<Data>;
  workspaceToken(): Promise<WorkspaceToken>;
}

export function createTestEngine(options: CreateClientOptions): TestEngine {
  // Bursts of tests take many windows.
  const engine = createEngine(resolveOptions({ deadlineMs: 86_400_000, ...options }));
  return {
    ...engine,
    execute: (operation, variables, call) => toCall(engine.execute(operation, variables, call)),
    async workspaceToken() {
      const scope = engine.openScope();
      try {
        return await engine.workspaceToken(scope);
      } catch (error) {
        throw error instanceof FailureError ? toError(error.failure, { attempts: 0 }) : error;
      } finally {
        scope.dispose();
      }
    },
  };
}

/** A client of this service. */
export function openEngine(
  { apiKey, baseUrl, clock, fetch }: FakeService,
  options: Partial<CreateClientOptions> = {},
): TestEngine {
  return createTestEngine({ apiKey, baseUrl, clock, fetch, ...options });
}

/** An engine in front of a service, with latency between them and one virtual clock for all three. */
export interface EngineFixture {
  readonly service: FakeService;
  readonly engine: TestEngine;
}

export interface EngineFixtureOptions extends FakeServiceOptions {
  readonly legs?: () => Legs;
  readonly client?: Partial<CreateClientOptions>;
}

export function createEngineFixture(options: EngineFixtureOptions = {}): EngineFixture {
  const service = createFakeService(options);
  const legs = options.legs ?? constantLegs(100);
  const fetch = withLatency(service.fetch, service.clock, legs);
  const engine = openEngine(service, { fetch, random: seeded(1), ...options.client });
  return { service, engine };
}

export function constantLegs(latencyMs: number): () => Legs {
  return () => ({ forwardMs: latencyMs / 2, backwardMs: latencyMs / 2 });
}

/** Each leg varies on its own by up to `jitter` of its length. */
export function jitteryLegs(latencyMs: number, jitter: number, random: () => number): () => Legs {
  const leg = () => (latencyMs / 2) * (1 - jitter + 2 * jitter * random());
  return () => ({ forwardMs: leg(), backwardMs: leg() });
}

/** The most requests in any span of one window. */
export const busiestWindow = (acceptedAtMs: readonly number[], windowMs = 60_000): number =>
  busiest(acceptedAtMs, { windowMs, window: "sliding", windowOffsetMs: 0 });
