import { hashOf } from "../address.ts";
import type { Overview } from "../api-types.ts";
import { control } from "../state/resource.ts";
import { formatRelative } from "../text/format.ts";
import { useClock } from "./bar.tsx";
import { ActionButton, Actions } from "./controls/action.tsx";
import { ListPanel } from "./lists/list-panel.tsx";
import "./due-next.css";

interface Props {
  readonly upcoming: Overview["upcoming"] | undefined;
  readonly nowMs: number;
}

/** The next timers on one line of time, and as a list; a virtual clock can be advanced to each. */
export function DueNext({ upcoming, nowMs }: Props) {
  const isVirtual = useClock()?.mode === "virtual";
  const due = (upcoming ?? []).map((timer) => ({ ...timer, inMs: Date.parse(timer.at) - nowMs }));
  return (
    <ListPanel
      title="Due next"
      nothing={upcoming && "No timer is set."}
      header={due.length > 1 && <DueLine due={due} />}
    >
      {due.map(({ kind, id, name, attempt, at, inMs }) => (
        <li key={`${kind} ${id}`}>
          <a href={hashOf(kind === "stage" ? "tasks" : "deliveries", id)}>{name}</a>
          <span class="muted">{kind === "stage" ? "stage ends" : `attempt ${attempt}`}</span>
          <span class="at-end">{formatRelative(Date.parse(at), nowMs)}</span>
          {isVirtual && (
            <Actions>
              <ActionButton
                class="quiet"
                label={`Go to ${name}`}
                onRun={() => control.advanceClock({ by: Math.max(0, inMs) })}
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

type Due = { readonly kind: string; readonly id: string; readonly inMs: number };

/** Seconds and hours share the line: its scale is that of the square root. The list says the same in words. */
function DueLine({ due }: { readonly due: readonly Due[] }) {
  const lastMs = Math.max(1, ...due.map(({ inMs }) => inMs));
  const percentOf = (inMs: number) => 100 * Math.sqrt(Math.max(0, inMs) / lastMs);
  return (
    <div class="due-line" aria-hidden="true">
      {due.map(({ kind, id, inMs }) => (
        <i
          key={`${kind} ${id}`}
          class={`tone-${kind === "stage" ? "run" : "wait"}`}
          style={{ left: `${percentOf(inMs)}%` }}
        />
      ))}
    </div>
  );
}
