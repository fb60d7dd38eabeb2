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

/** The panel of a detail that has not been read yet. */
export const WaitingPanel = () => (
  <div class="panel nothing">
    <Waiting />
  </div>
);
