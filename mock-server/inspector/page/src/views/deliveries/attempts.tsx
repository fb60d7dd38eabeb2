import type { DeliveryAttempt, DeliveryDetail } from "@workspace-tasks/mock-server/control";
import { Button } from "@workspace-tasks/page-parts/controls.tsx";
import { formatDuration } from "@workspace-tasks/page-parts/text.ts";
import { BodyText, Copied, Facts, Time } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import { StatusBadge } from "../../parts/delivery-state.tsx";
import { Attempt } from "./attempt.tsx";

/** All attempts as one table; below it the chosen one, at first the last, and the body that all of them sent. */
export function Attempts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { attempts } = delivery;
  const [chosen, setChosen] = useState<number | null>(null);
  const attempt = attempts.find(({ number }) => number === chosen) ?? attempts.at(-1);
  return (
    <>
      <section class="panel">
        <table class="attempts" aria-label="Attempts, newest first">
          <thead>
            <tr>
              <th>#</th>
              <th>time</th>
              <th>response</th>
              <th>duration</th>
            </tr>
          </thead>
          <tbody>
            {attempts.toReversed().map((each) => (
              <Row
                key={each.number}
                attempt={each}
                before={attempts[each.number - 2]}
                isChosen={each === attempt}
                onChoose={() => setChosen(each.number)}
              />
            ))}
          </tbody>
        </table>
      </section>
      {attempt && (
        <section class="panel attempt" aria-label="Chosen attempt">
          <Attempt key={attempt.number} attempt={attempt} delivery={delivery} />
        </section>
      )}
      {attempt && (
        <section class="panel">
          <Facts
            values={{
              "webhook-id": <Copied value={delivery.id} />,
              "event id": <Copied value={delivery.eventId} />,
            }}
          />
          <BodyText label="Body" text={attempt.requestBody} />
        </section>
      )}
    </>
  );
}

interface RowProps {
  readonly attempt: DeliveryAttempt;
  readonly before: DeliveryAttempt | undefined;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Row({ attempt, before, isChosen, onChoose }: RowProps) {
  const { number, kind, status, error, startedAt, durationMs, faults } = attempt;
  const gapMs = before ? Date.parse(startedAt) - Date.parse(before.startedAt) : 0;
  return (
    <tr aria-current={isChosen || undefined} onClick={onChoose}>
      <td>
        <Button label={number} name={`Attempt ${number}`} class="quiet" onClick={onChoose} />
      </td>
      <td>
        <Time at={startedAt} /> {before && <span class="muted">+{formatDuration(gapMs)}</span>}
      </td>
      <td>
        <span class={`toned tone-${error === null ? "good" : "bad"}`}>{status ?? "no response"}</span>{" "}
        {kind !== "scheduled" && <StatusBadge status={kind} />}
        {faults.length > 0 && <StatusBadge status="fault" tone="wait" />}
      </td>
      <td>{formatDuration(durationMs)}</td>
    </tr>
  );
}
