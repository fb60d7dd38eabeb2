// Candidates are read in the order of their keys, and each call continues after the key at which the last one stopped.
// So no number of tasks that the service does not know can hide another one.

import type { ReceiverSettings } from "../receiver-options.ts";

export interface CandidatePage {
  readonly taskIds: readonly string[];
  readonly otherWorkspaces: number;
  /** False when there are more. */
  readonly complete: boolean;
  /** Lets the next call continue after this page. */
  save(): Promise<void>;
}

interface CandidateOptions {
  readonly runningForMs: number;
  readonly tasksMax: number;
  /** Empty when it is not known. */
  readonly workspaceId: string;
}

const cursorMark = "reconciled-to-key";
const pageMax = 500;

export async function findCandidates(
  settings: Pick<ReceiverSettings, "inbox" | "source">,
  options: CandidateOptions,
): Promise<CandidatePage> {
  const { inbox, source } = settings;
  const { tasksMax, workspaceId } = options;
  const cursor = (await inbox.readMarks(source)).marks[cursorMark] ?? "";
  const taskIds = new Set<string>();
  let otherWorkspaces = 0;
  let last = "";
  for await (const candidate of candidatesFrom(settings, options, cursor)) {
    if (taskIds.size >= tasksMax) {
      return { taskIds: [...taskIds], otherWorkspaces, complete: false, save: () => save(last) };
    }
    last = candidate.key;
    const isOther =
      candidate.workspaceId !== null && workspaceId !== "" && candidate.workspaceId !== workspaceId;
    const taskId = (JSON.parse(candidate.key) as string[])[0];
    if (isOther) otherWorkspaces += 1;
    else if (taskId !== undefined) taskIds.add(taskId);
  }
  return { taskIds: [...taskIds], otherWorkspaces, complete: true, save: () => save("") };

  async function save(key: string) {
    if (key !== cursor) await inbox.writeMarks(source, { [cursorMark]: key });
  }
}

/** All candidates: those after the cursor, then those up to it. */
async function* candidatesFrom(
  { inbox, source }: Pick<ReceiverSettings, "inbox" | "source">,
  { runningForMs }: CandidateOptions,
  cursor: string,
) {
  for (const [first, end] of [
    [cursor, undefined],
    ["", cursor],
  ] as const) {
    if (end === "") return;
    let afterKey = first;
    for (;;) {
      const page = await inbox.reconcileCandidates({ source, runningForMs, afterKey, limit: pageMax });
      for (const candidate of page) {
        if (end !== undefined && candidate.key > end) return;
        yield candidate;
        afterKey = candidate.key;
      }
      if (page.length === 0) break;
    }
  }
}
