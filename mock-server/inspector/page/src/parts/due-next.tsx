import { hashOf } from "../address.ts";
import type { Overview } from "../api-types.ts";
import { control } from "../state/resource.ts";
import { formatRelative } from "../text/format.ts";
import { useClock } from "./bar.tsx";
import { ActionButton, Actions } from "./controls/action.tsx";
import { ListPanel } from "./lists/list-panel.tsx";

interface Props {
  readonly upcoming: Overview["upcoming"] | undefined;
  readonly nowMs: number;
}

/** The next timers; a virtual clock can be advanced to each. */
export function DueNext({ upcoming, nowMs }: Props) {
  const isVirtual = useClock()?.mode === "virtual";
  return (
    <ListPanel title="Due next" nothing={upcoming && "No timer is set."}>
      {upcoming?.map(({ kind, id, name, attempt, at }) => (
        <li key={`${kind} ${id}`}>
          <a href={hashOf(kind === "stage" ? "tasks" : "deliveries", id)}>{name}</a>
          <span class="muted">{kind === "stage" ? "stage ends" : `attempt ${attempt}`}</span>
          <span class="at-end">{formatRelative(Date.parse(at), nowMs)}</span>
          {isVirtual && (
            <Actions>
              <ActionButton
                class="quiet"
                label={`Go to ${name}`}
                onRun={() => control.advanceClock({ by: Math.max(0, Date.parse(at) - nowMs) })}
              >
                Go
              </ActionButton>
            </Actions>
          )}
        </li>
      ))}
    </ListPanel>
  );
}
