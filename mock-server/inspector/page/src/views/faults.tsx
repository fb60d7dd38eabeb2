import type { FaultsView as Faults, FiredFaultView } from "@workspace-tasks/mock-server/control";
import { hashOf } from "@workspace-tasks/page-parts/address.ts";
import { ActionButton, Actions } from "@workspace-tasks/page-parts/controls.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { Absent } from "@workspace-tasks/page-parts/status.tsx";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import { TextBlock, Time } from "@workspace-tasks/page-parts/values.tsx";
import { control } from "../state/mock.ts";
import { describeFault, describeMatch, describeRule } from "../text/fault-labels.ts";
import { AddApiFault, AddDeliveryFault } from "./add-fault.tsx";

export function FaultsView() {
  const faults = useResource("faults", ["fault", "faults"], () => control.getFaults());
  return (
    <>
      <div class="title-bar">
        <h2>Faults</h2>
        <Actions>
          <ActionButton
            label="Add the contract's faults"
            onRun={() => control.addFaults({ profile: "contract" })}
          />
          <ActionButton label="End all faults" onRun={() => control.clearFaults()} class="toned tone-bad" />
        </Actions>
      </div>
      <div class="panels wide-panels">
        <AddApiFault />
        <AddDeliveryFault />
      </div>
      {faults ? (
        <div class="panels wide-panels">
          <Active faults={faults} />
          <Fired fired={faults.fired} />
        </div>
      ) : (
        <Absent />
      )}
    </>
  );
}

function Active({ faults: { plan, rules } }: { readonly faults: Faults }) {
  const active = rules.flatMap(({ id, side, index }) => {
    const rule = plan[side]?.[index];
    const text = rule ? describeRule(rule) : "";
    return rule && text !== "" ? [{ id, side, text, where: describeMatch(rule) }] : [];
  });
  return (
    <ListPanel
      title="Active faults"
      nothing="No fault is active."
      footer={
        <details>
          <summary>As JSON, for the control API</summary>
          <TextBlock text={JSON.stringify(plan, null, 2)} />
        </details>
      }
    >
      {active.map(({ id, side, text, where }) => (
        <li key={id}>
          <span class="badge tone-calm">{side === "api" ? "API" : "delivery"}</span>
          <span>
            {text} {where && <span class="muted mono">{where}</span>}
          </span>
          <Actions class="tools at-end">
            <ActionButton
              label="End"
              onRun={() => control.removeFault(String(id))}
              class="quiet"
              name={`End the rule: ${text}`}
            />
          </Actions>
        </li>
      ))}
    </ListPanel>
  );
}

const firedShown = 200;

function Fired({ fired }: { readonly fired: readonly FiredFaultView[] }) {
  return (
    <ListPanel title={`Fired (${fired.length})`} nothing="None yet.">
      {fired
        .slice(-firedShown)
        .reverse()
        .map(({ sequence, at, side, fault, subject }) => (
          <li key={sequence}>
            <span class="muted mono">
              <Time at={at} />
            </span>
            <span>{describeFault(fault)}</span>
            <span class="at-end muted one-line">
              {side === "delivery" ? <a href={hashOf("deliveries", subject)}>{shortId(subject)}</a> : subject}
            </span>
          </li>
        ))}
    </ListPanel>
  );
}
