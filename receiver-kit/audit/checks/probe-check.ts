import type { Answer } from "../target/connection.ts";
import type { Delivery } from "../target/scheme.ts";
import { type SendOptions, type Target, UnreachableError } from "../target/target.ts";
import { type AuditCheck, type Finding, failed, passed } from "./check.ts";

/** One delivery as it is sent. `label` tells several of one check apart. */
export type Shot = {
  readonly label?: string;
  readonly delivery: Delivery;
  readonly options?: SendOptions;
};

type ShotCheck = Omit<AuditCheck, "run" | "expected"> & {
  readonly expected?: string;
  readonly shots: (target: Target) => readonly Shot[] | Promise<readonly Shot[]>;
};

/** Every shot has to be acknowledged with a 2xx. */
export function acknowledgedCheck({ shots, ...check }: ShotCheck): AuditCheck {
  return {
    expected: "2xx",
    ...check,
    run: async (target) => judge(target, await shots(target), isAcknowledged),
  };
}

/** No shot may be accepted: any answer but 2xx, or a closed connection, in time. */
export function refusedCheck({ shots, ...check }: ShotCheck): AuditCheck {
  return {
    expected: "a 4xx answer",
    ...check,
    run: async (target) => judge(target, await shots(target), isRefused),
  };
}

/** Either is right, 2xx (kept aside) or 4xx (refused), but not an error of the server's, nor silence. */
export function handledCheck(options: ShotCheck & { readonly mayClose?: boolean }): AuditCheck {
  // A server may cut off what is too large; then closing the connection is an answer too.
  const { shots, mayClose = false, ...check } = options;
  const isRight = (answer: Answer) => isHandled(answer) || (mayClose && answer.kind === "closed");
  return {
    expected: "2xx or 4xx, in time",
    ...check,
    run: async (target) => judge(target, await shots(target), isRight),
  };
}

export const isAcknowledged = (answer: Answer): boolean =>
  answer.kind === "answered" && answer.status >= 200 && answer.status < 300;

export const isRefused = (answer: Answer): boolean =>
  answer.kind === "closed" || (answer.kind === "answered" && !isAcknowledged(answer));

export const isHandled = (answer: Answer): boolean =>
  isAcknowledged(answer) || (answer.kind === "answered" && answer.status >= 400 && answer.status < 500);

async function judge(
  target: Target,
  shots: readonly Shot[],
  isRight: (answer: Answer) => boolean,
): Promise<Finding> {
  const answers: Answer[] = [];
  const wrong: string[] = [];
  try {
    for (const shot of shots) {
      const answer = await target.send(shot.delivery, shot.options);
      answers.push(answer);
      if (!isRight(answer)) wrong.push((shot.label ? `${shot.label}: ` : "") + describeAnswer(answer));
      // A silent receiver would take the time limit once more for every further shot.
      if (answer.kind === "silent") break;
    }
  } catch (error) {
    // What the receiver did before it went away still counts.
    if (!(error instanceof UnreachableError) || wrong.length === 0) throw error;
    return { ...failed([...wrong, `then ${error.message}`].join("; ")), unreachable: true };
  }
  return wrong.length === 0 ? passed(summaryOf(answers)) : failed(wrong.join("; "));
}

/** `200`, `closed without an answer`, … : never anything of the body. */
export function describeAnswer(answer: Answer): string {
  switch (answer.kind) {
    case "answered":
      return String(answer.status);
    case "closed":
      return "connection closed without an answer";
    case "silent":
      return `no answer within ${Math.round(answer.durationMs)} ms`;
    case "unreachable":
      return `could not connect (${answer.code})`;
    case "garbled":
      return "something that is not HTTP";
  }
}

/** Distinct answers with how often each came: `200` or `200 ×49, 500 ×1`. */
export function summaryOf(answers: readonly Answer[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) {
    const text = describeAnswer(answer);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (counts.size === 1) return [...counts.keys()].join("");
  return [...counts].map(([text, count]) => `${text} ×${count}`).join(", ");
}
