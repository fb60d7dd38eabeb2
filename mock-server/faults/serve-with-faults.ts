import type { ApiFault } from "../state/fault.ts";

// The order in which faults take hold is the order of the wire: what happens to the token and the
// allowance comes before the operation, answers that replace it come next, and what breaks the answer
// comes last. So several faults on one call have one meaning.

export type PlainResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** How an answer ends on the wire when it does not end well. */
export type Abort =
  /** The connection is cut; when `afterBytes` is given, the head and that much of the body go first. */
  | { readonly kind: "cut"; readonly afterBytes: number | null }
  /** The head goes out, the body never does. */
  | { readonly kind: "stall" };

export type WireResponse = PlainResponse & { readonly ending?: Abort };

/** What a fault may do to the service. */
export type FaultEffects = {
  /** Resolves after so much time on the mock's clock. */
  wait(delayMs: number): Promise<void>;
  expireToken(): void;
  /** Uses up requests of the caller's allowance; `null`: all that are left. */
  burnQuota(requests: number | null): void;
};

/** Runs the operation under these faults and says how its answer goes out. */
export async function serveWithFaults(
  faults: readonly ApiFault[],
  ports: FaultEffects,
  run: () => Promise<PlainResponse>,
): Promise<WireResponse> {
  for (const fault of faults) {
    if (fault.kind === "expire-token") ports.expireToken();
    if (fault.kind === "burn-quota") ports.burnQuota(fault.requests ?? null);
  }
  const answer: WireResponse = replacement(faults) ?? (await run());
  for (const fault of faults) if (fault.kind === "delay") await ports.wait(fault.delayMs);
  const ending = answer.ending ?? abortOf(faults, answer);
  return ending ? { ...answer, ending } : answer;
}

function replacement(faults: readonly ApiFault[]): WireResponse | undefined {
  for (const fault of faults) {
    if (fault.kind === "reset-before-effect") {
      return { status: 0, headers: {}, body: "", ending: { kind: "cut", afterBytes: null } };
    }
    if (fault.kind === "status") return statusAnswer(fault.status, fault.retryAfterSeconds);
    if (fault.kind === "html") return htmlAnswer(fault.status ?? 502);
    if (fault.kind === "graphql-error") return graphqlErrorAnswer(fault.message, fault.code);
  }
  return undefined;
}

function abortOf(faults: readonly ApiFault[], answer: PlainResponse): Abort | undefined {
  for (const fault of faults) {
    if (fault.kind === "reset-after-effect") return { kind: "cut", afterBytes: null };
    if (fault.kind === "truncate") {
      const bytes = Buffer.byteLength(answer.body);
      const wanted = fault.bytes ?? Math.floor(bytes / 2);
      return { kind: "cut", afterBytes: Math.max(0, Math.min(wanted, bytes - 1)) };
    }
    if (fault.kind === "stall") return { kind: "stall" };
  }
  return undefined;
}

function statusAnswer(status: number, retryAfterSeconds: number | undefined): PlainResponse {
  return {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    },
    body: `status ${status}\n`,
  };
}

function htmlAnswer(status: number): PlainResponse {
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!doctype html>\n<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
  };
}

function graphqlErrorAnswer(message: string, code: string | undefined): PlainResponse {
  const error = { message, ...(code === undefined ? {} : { extensions: { code } }) };
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({ data: null, errors: [error] }),
  };
}
