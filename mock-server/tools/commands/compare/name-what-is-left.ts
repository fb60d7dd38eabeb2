import type { CommandIo } from "@workspace-tasks/kernel/cli/command-line.ts";
import { endpointsText, removalText } from "../../compare/report/text-report.ts";
import type { CreatedEndpoints } from "../../compare/run/created-endpoints.ts";
import { cleanCommand } from "../../compare/run/remove-created.ts";
import type { Access } from "../../compare/run/session.ts";

/**
 * Says what the first signal starts, and what the second one leaves on the service.
 * @returns what is left now, for a run that fails
 */
export function nameWhatIsLeft(
  { stop, onKill }: CommandIo,
  access: Access,
  created: CreatedEndpoints,
  say: (text: string) => void,
): () => string {
  const count = () => created.left().length;
  const text = () => {
    const removal = { removed: 0, left: created.left(), problem: null, command: cleanCommand(access) };
    return count() === 0 ? "" : `${removalText(removal)}\n`;
  };
  const sayEnding = () =>
    say(
      count() === 0
        ? "ending; Ctrl-C again to end at once"
        : `ending: removing ${endpointsText(count())}; Ctrl-C again to leave ${count() === 1 ? "it" : "them"}`,
    );
  stop.addEventListener("abort", sayEnding, { once: true });
  onKill?.(text);
  return text;
}
