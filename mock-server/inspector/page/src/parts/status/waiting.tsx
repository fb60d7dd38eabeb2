import { readProblemOf } from "../../state/live.ts";
import { useLive } from "../../state/store.ts";
import "./waiting.css";

/** In place of what has not been read yet. Most reads are quicker than an eye: the words appear after a moment. */
export function Waiting() {
  const connection = useLive((state) => state.connection);
  const problem = useLive(readProblemOf);
  if (connection === "lost") return <>Not read yet: the mock does not respond.</>;
  return problem ? <>Not read.</> : <span class="waiting">Loading …</span>;
}

interface AbsentProps {
  /** `undefined`: not read yet; `null`: the mock does not have it. */
  readonly value?: null | undefined;
  readonly text?: string;
}

/** The panel in place of something. */
export const Absent = ({ value, text }: AbsentProps) => (
  <div class="panel nothing">{value === undefined ? <Waiting /> : text}</div>
);
