import { useState } from "preact/hooks";
import { hashOf } from "../address.ts";
import type { FaultPlan, FiredFaultView } from "../api-types.ts";
import { apiPresets, deliveryPresets, describeFault, describePlan, type Preset } from "../fault-labels.ts";
import { formatTimeOfDay, shortId } from "../format.ts";
import { type Action, ActionButton, useAction } from "../parts/action.tsx";
import { ListPanel } from "../parts/list-panel.tsx";
import { Select } from "../parts/select.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { control, useResource } from "../resource.ts";

export function FaultsView() {
  const faults = useResource("faults", ["fault", "faults"], () => control.getFaults());
  const action = useAction();
  if (!faults) return <div class="nothing">Loading …</div>;
  const { plan } = faults;
  const put = (changes: FaultPlan) => () => control.setFaults({ ...plan, ...changes });
  return (
    <>
      <div class="title-bar">
        <h2>Faults</h2>
        <div class="tools">
          <ActionButton action={action} onRun={() => control.setFaults({ profile: "contract" })}>
            All that the contract permits
          </ActionButton>
          <ActionButton action={action} onRun={() => control.clearFaults()} class="toned tone-bad">
            End all faults
          </ActionButton>
        </div>
      </div>
      {action.notice}
      <div class="panels wide-panels">
        <AddFaultForm
          title="On calls to the API"
          presets={apiPresets}
          action={action}
          onAdd={(rule) => put({ api: [...(plan.api ?? []), rule] })()}
        />
        <AddFaultForm
          title="On deliveries"
          presets={deliveryPresets}
          action={action}
          onAdd={(rule) => put({ deliveries: [...(plan.deliveries ?? []), rule] })()}
        />
      </div>
      <div class="panels wide-panels">
        <Plan plan={plan} action={action} />
        <Fired fired={faults.fired} />
      </div>
    </>
  );
}

function Plan({ plan, action }: { readonly plan: FaultPlan; readonly action: Action }) {
  const lines = describePlan(plan);
  const end = (side: "api" | "deliveries", rule: number) => () =>
    control.setFaults({ ...plan, [side]: (plan[side] ?? []).filter((_, index) => index !== rule) });
  return (
    <ListPanel
      title="Active faults"
      nothing="No fault is active."
      footer={
        <details>
          <summary>As JSON, for the control API</summary>
          <TextBlock>{JSON.stringify(plan, null, 2)}</TextBlock>
        </details>
      }
    >
      {lines.map(({ side, rule, what, often, where }, index) => (
        <li key={`${side} ${rule} ${index}`}>
          <span class="badge tone-calm">{side === "api" ? "API" : "delivery"}</span>
          <span>
            {what} <span class="muted">{often}</span> {where && <span class="muted mono">{where}</span>}
          </span>
          <span class="at-end">
            <ActionButton
              action={action}
              onRun={end(side, rule)}
              class="quiet"
              label={`end the rule: ${what}`}
            >
              End
            </ActionButton>
          </span>
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
            <span class="muted mono">{formatTimeOfDay(at)}</span>
            <span>{describeFault(fault)}</span>
            <span class="at-end muted one-line">
              {side === "delivery" ? <a href={hashOf("deliveries", subject)}>{shortId(subject)}</a> : subject}
            </span>
          </li>
        ))}
    </ListPanel>
  );
}

interface AddFaultProps<Fault> {
  readonly title: string;
  readonly presets: readonly Preset<Fault>[];
  readonly action: Action;
  readonly onAdd: (rule: {
    readonly instructions?: readonly Fault[];
    readonly chances?: readonly { readonly probability: number; readonly fault: Fault }[];
  }) => Promise<unknown>;
}

const frequencies = [
  { value: "1", text: "the next time" },
  { value: "3", text: "the next three times" },
  { value: "0.1", text: "in one of ten" },
  { value: "0.5", text: "in one of two" },
];

function AddFaultForm<Fault>({ title, presets, action, onAdd }: AddFaultProps<Fault>) {
  const [label, setLabel] = useState(presets[0]?.label ?? "");
  const [frequency, setFrequency] = useState("1");
  const add = async () => {
    const fault = presets.find((preset) => preset.label === label)?.fault;
    if (fault === undefined) return;
    const count = Number(frequency);
    await onAdd(
      count >= 1
        ? { instructions: Array.from({ length: count }, () => fault) }
        : { chances: [{ probability: count, fault }] },
    );
  };
  return (
    <section class="panel" aria-label={title}>
      <h3>{title}</h3>
      <div class="tools fill">
        <label>
          Fault
          <Select
            label="Fault"
            value={label}
            options={presets.map(({ label }) => label)}
            onSelect={setLabel}
          />
        </label>
        <label>
          How often
          <Select label="How often" value={frequency} options={frequencies} onSelect={setFrequency} />
        </label>
        <ActionButton action={action} onRun={add} class="primary" label={`add: ${title}`}>
          Add
        </ActionButton>
      </div>
    </section>
  );
}
