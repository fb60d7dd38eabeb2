import { useState } from "preact/hooks";
import type { ApiFault, DeliveryFault, FaultPlan } from "../../../../faults/fault.ts";
import type { ViewProps } from "../app.tsx";
import { formatTime } from "../format.ts";
import type { FiredFaultView } from "../nouns.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { ask, useResource } from "../resource.ts";

type Faults = { readonly plan: FaultPlan; readonly fired: readonly FiredFaultView[] };
type Preset<Fault> = { readonly label: string; readonly fault: Fault };

const apiPresets: readonly Preset<ApiFault>[] = [
  { label: "503, retry after 1 s", fault: { kind: "status", status: 503, retryAfterSeconds: 1 } },
  { label: "429, retry after 1 s", fault: { kind: "status", status: 429, retryAfterSeconds: 1 } },
  { label: "an HTML page", fault: { kind: "html" } },
  { label: "answer cut in half", fault: { kind: "truncate" } },
  { label: "connection cut before the effect", fault: { kind: "reset-before-effect" } },
  { label: "connection cut after the effect", fault: { kind: "reset-after-effect" } },
  { label: "stall after the headers", fault: { kind: "stall" } },
  { label: "token expires", fault: { kind: "expire-token" } },
  { label: "allowance used up", fault: { kind: "burn-quota" } },
];

const deliveryPresets: readonly Preset<DeliveryFault>[] = [
  { label: "sent twice", fault: { kind: "duplicate" } },
  { label: "out of order", fault: { kind: "reorder" } },
  { label: "one minute late", fault: { kind: "delay", delayMs: 60_000 } },
  { label: "lost on the way", fault: { kind: "drop" } },
  { label: "wrong signature", fault: { kind: "wrong-signature" } },
  { label: "stale timestamp", fault: { kind: "stale-timestamp" } },
  { label: "old secret only", fault: { kind: "old-secret-only" } },
  { label: "body altered", fault: { kind: "altered-body" } },
  { label: "redirect", fault: { kind: "redirect" } },
];

export function FaultsView(_: ViewProps) {
  const faults = useResource<Faults>("/faults", ["fault", "faults"]);
  const action = useAction();
  if (!faults) return <div class="nothing">Loading …</div>;
  const { plan } = faults;
  const put = (changes: FaultPlan) => () => ask("PUT", "/faults", { ...plan, ...changes });
  return (
    <>
      <div class="head">
        <h2>Faults</h2>
        <div class="tools">
          <ActionButton action={action} onRun={() => ask("PUT", "/faults", { profile: "contract" })}>
            All that the contract permits
          </ActionButton>
          <ActionButton action={action} onRun={() => ask("DELETE", "/faults")} class="danger">
            End all faults
          </ActionButton>
        </div>
      </div>
      {action.notice}
      <div class="grid">
        <Adder
          title="On calls to the API"
          presets={apiPresets}
          action={action}
          onAdd={(rule) => put({ api: [...(plan.api ?? []), rule] })()}
        />
        <Adder
          title="On deliveries"
          presets={deliveryPresets}
          action={action}
          onAdd={(rule) => put({ deliveries: [...(plan.deliveries ?? []), rule] })()}
        />
        <section class="panel">
          <h3>The plan, with what is left of it</h3>
          <pre>{JSON.stringify(plan, null, 2)}</pre>
        </section>
      </div>
      <section class="panel">
        <h3>Fired ({faults.fired.length})</h3>
        {faults.fired.length === 0 && <span class="muted">None yet.</span>}
        {faults.fired
          .slice(-200)
          .reverse()
          .map(({ sequence, at, side, fault, subject }) => (
            <div key={sequence}>
              <span class="muted mono">{formatTime(Date.parse(at))}</span> {side}: {fault.kind}{" "}
              <span class="muted mono">{subject}</span>
            </div>
          ))}
      </section>
    </>
  );
}

type AdderProps<Fault> = {
  readonly title: string;
  readonly presets: readonly Preset<Fault>[];
  readonly action: ReturnType<typeof useAction>;
  readonly onAdd: (rule: {
    readonly instructions?: readonly Fault[];
    readonly chances?: readonly { readonly probability: number; readonly fault: Fault }[];
  }) => Promise<unknown>;
};

function Adder<Fault>({ title, presets, action, onAdd }: AdderProps<Fault>) {
  const [chosen, setChosen] = useState(0);
  const [how, setHow] = useState("1");
  const add = async () => {
    const fault = presets[chosen]?.fault;
    if (fault === undefined) return;
    const count = Number(how);
    await onAdd(
      count >= 1
        ? { instructions: Array.from({ length: count }, () => fault) }
        : { chances: [{ probability: count, fault }] },
    );
  };
  return (
    <section class="panel">
      <h3>{title}</h3>
      <label>
        what goes wrong
        <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          {presets.map(({ label }, index) => (
            <option key={label} value={index}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        how often
        <select value={how} onChange={(event) => setHow(event.currentTarget.value)}>
          <option value="1">the next time</option>
          <option value="3">the next three times</option>
          <option value="0.1">in one of ten</option>
          <option value="0.5">in one of two</option>
        </select>
      </label>
      <div class="tools">
        <ActionButton action={action} onRun={add} class="primary" label={`switch on: ${title}`}>
          Switch on
        </ActionButton>
      </div>
    </section>
  );
}
