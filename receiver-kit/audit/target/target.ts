import type { Clock } from "../../clock.ts";
import { type Address, type Answer, type Connection, openConnection } from "./connection.ts";
import type { Observer } from "./observer.ts";
import { createSampleEvents, type JsonObject, type SampleEvents } from "./sample-events.ts";
import type { Delivery, HeaderLine, Scheme, SignedContent } from "./scheme.ts";

export type ComposeOptions = {
  readonly id?: string;
  /** How long ago it was sent; negative lies in the future. */
  readonly ageSeconds?: number;
  readonly payload?: JsonObject;
  /** The exact body, instead of a payload. */
  readonly body?: Buffer | string;
};

export type SendOptions = {
  readonly method?: string;
  /** Header lines instead of the scheme's own; names may repeat. */
  readonly headers?: readonly HeaderLine[];
  readonly extraHeaders?: readonly HeaderLine[];
  readonly contentType?: string | undefined;
  /** Bytes on the wire instead of the delivery's body. */
  readonly wireBody?: Buffer;
  readonly contentLength?: number;
  readonly chunked?: boolean;
  readonly timeoutMs?: number;
};

/** A connection was refused, so that the check at hand cannot judge anything. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  readonly code: string;

  constructor(code: string) {
    super(`could not connect (${code})`);
    this.code = code;
  }
}

/** What came back over a connection that stood. */
export type Reply = Exclude<Answer, { readonly kind: "unreachable" }>;

export type Exchange = { readonly delivery: Delivery; readonly answer: Reply };

export type TargetLimits = {
  /** Time limit for one answer. */
  readonly timeoutMs: number;
  readonly toleranceSeconds: number;
  /** Within it a receiver ends a request whose body stopped. */
  readonly stallTimeoutMs: number;
  /** A slower acknowledgement is reported. */
  readonly answerTimeMsMax: number;
};

/** The receiver under audit, as the checks see it. */
export type Target = {
  readonly scheme: Scheme;
  readonly clock: Clock;
  readonly limits: TargetLimits;
  readonly observer: Observer | undefined;
  readonly secret: string;
  readonly oldSecret: string | undefined;
  readonly canary: string;
  readonly samples: SampleEvents;
  /** Every exchange so far, for the checks that review answers. */
  readonly transcript: readonly Exchange[];
  /** Whether a text holds a secret, as text or as its key in another encoding. */
  reveals(text: string): boolean;
  nextId(): string;
  /** A delivery that a good receiver acknowledges. */
  compose(options?: ComposeOptions): Delivery;
  sign(content: SignedContent): string;
  signWithSecret(content: SignedContent, secret: string): string;
  signWithKey(content: SignedContent, key: Buffer): string;
  /** Signs with a key that the receiver cannot know. */
  signForged(content: SignedContent): string;
  /** One request on a connection of its own. @throws {UnreachableError} */
  send(delivery: Delivery, options?: SendOptions): Promise<Reply>;
  connect(): Connection;
  /** The bytes of a request, for checks that use a connection themselves. */
  request(delivery: Delivery, options?: SendOptions & { readonly keepAlive?: boolean }): Buffer;
  /** Adds an exchange that a check made on a connection of its own. @throws {UnreachableError} */
  record(delivery: Delivery, answer: Answer): Reply;
  wait(ms: number): Promise<void>;
};

export type TargetOptions = {
  readonly address: Address;
  readonly scheme: Scheme;
  readonly secret: string;
  readonly oldSecret?: string | undefined;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Buffer;
  readonly limits: TargetLimits;
  readonly observer?: Observer | undefined;
};

export function createTarget(options: TargetOptions): Target {
  const { address, scheme, secret, clock, limits, randomBytes } = options;
  const canary = `canary-${randomBytes(9).toString("hex")}`;
  const foreignKey = randomBytes(32);
  const transcript: Exchange[] = [];
  const nextId = () => `audit_${randomBytes(12).toString("hex")}`;
  const forms = [secret, options.oldSecret].flatMap((each) => (each ? secretForms(scheme, each) : []));
  const samples = createSampleEvents({ canary, nextId, now: clock.now });

  const target: Target = {
    scheme,
    clock,
    limits,
    observer: options.observer,
    secret,
    oldSecret: options.oldSecret,
    canary,
    samples,
    transcript,
    reveals: (text) => forms.some((form) => text.includes(form)),
    nextId,
    compose({ id = nextId(), ageSeconds = 0, payload, body } = {}) {
      const event = payload ?? samples.task();
      const content = {
        id,
        timestamp: String(Math.floor(clock.now() / 1000) - ageSeconds),
        body: Buffer.from(body ?? JSON.stringify(event)),
      };
      return { ...content, event: String(event["event"]), signature: scheme.sign(content, secret) };
    },
    sign: (content) => scheme.sign(content, secret),
    signWithSecret: (content, other) => scheme.sign(content, other),
    signWithKey: (content, key) => scheme.signWithKey(content, key),
    signForged: (content) => scheme.signWithKey(content, foreignKey),
    async send(delivery, sendOptions = {}) {
      const connection = target.connect();
      try {
        // Not awaited: a receiver may answer without reading the body to its end.
        void connection.write(target.request(delivery, sendOptions));
        const answer = await connection.answer(sendOptions.timeoutMs ?? limits.timeoutMs);
        return target.record(delivery, answer);
      } finally {
        connection.close();
      }
    },
    connect: () => openConnection(address, clock),
    request: (delivery, requestOptions = {}) => requestBytes(address, scheme, delivery, requestOptions),
    record(delivery, answer) {
      if (answer.kind === "unreachable") throw new UnreachableError(answer.code);
      transcript.push({ delivery, answer });
      return answer;
    },
    wait: (ms) => new Promise((resolve) => void clock.schedule(ms, resolve)),
  };
  return target;
}

/** Every text that would give a secret away. */
export function secretForms(scheme: Scheme, secret: string): readonly string[] {
  const key = scheme.keyOf(secret);
  const encodings = ["base64", "base64url", "hex"] as const;
  return [secret, secret.replace(/^whsec_/, ""), ...encodings.map((encoding) => key.toString(encoding))];
}

function requestBytes(
  address: Address,
  scheme: Scheme,
  delivery: Delivery,
  options: SendOptions & { readonly keepAlive?: boolean },
): Buffer {
  const body = options.wireBody ?? delivery.body;
  const contentType = "contentType" in options ? options.contentType : "application/json";
  const lines: HeaderLine[] = [
    ["host", address.hostHeader],
    ["user-agent", "workspace-tasks-check-receiver"],
    ["connection", options.keepAlive ? "keep-alive" : "close"],
    ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
    options.chunked
      ? ["transfer-encoding", "chunked"]
      : ["content-length", String(options.contentLength ?? body.length)],
    ...(options.headers ?? scheme.headers(delivery)),
    ...(options.extraHeaders ?? []),
  ];
  const head = [
    `${options.method ?? "POST"} ${address.path} HTTP/1.1`,
    ...lines.map((line) => line.join(": ")),
  ];
  // latin1: a header is bytes, and some attacks put bytes outside ASCII there.
  return Buffer.concat([
    Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"),
    options.chunked ? chunks(body) : body,
  ]);
}

function chunks(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  return Buffer.concat([
    ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
    Buffer.from("0\r\n\r\n"),
  ]);
}
