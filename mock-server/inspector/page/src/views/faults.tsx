import type {
  ApiFault,
  DeliveryFault,
  FaultsView as Faults,
  FiredFaultView,
} from "@workspace-tasks/mock-server/control";
import {
  ActionButton,
  Actions,
  type Options,
  SelectField,
  TextField,
} from "@workspace-tasks/page-parts/controls.tsx";
import { ListPanel } from "@workspace-tasks/page-parts/lists.tsx";
import { hashOf } from "@workspace-tasks/page-parts/route.ts";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { shortId } from "@workspace-tasks/page-parts/text.ts";
import { Absent, TextBlock, Time } from "@workspace-tasks/page-parts/values.tsx";
import { useState } from "preact/hooks";
import { control, nameOfKey, routerOptions } from "../mock.ts";
import {
  apiPresets,
  deliveryPresets,
  describeFault,
  describeMatch,
  describeRule,
  type Preset,
} from "../text.ts";

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

/** The top-level fields of the schema, inserted by the build: the schema itself would need its parser. */
declare const __OPERATION_NAMES__: readonly string[];

export function AddApiFault() {
  const keys = useResource("keys", ["api-key", "membership"], () => control.listApiKeys())?.data ?? [];
  return (
    <AddFault<ApiFault>
      title="On calls to the API"
      presets={apiPresets}
      scope={{
        operation: { label: "Operation", every: "every operation", options: __OPERATION_NAMES__ },
        keyId: {
          label: "Key",
          every: "every caller",
          options: keys.map((key) => ({ value: key.id, text: nameOfKey(key) })),
        },
        router: { label: "Router", every: "both routers", options: routerOptions },
      }}
      onAdd={(rule) => control.addFaults({ api: [rule] })}
    />
  );
}

export function AddDeliveryFault() {
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  const catalog = useResource("catalog", ["catalog"], () => control.listCatalog())?.data ?? [];
  return (
    <AddFault<DeliveryFault>
      title="On deliveries"
      presets={deliveryPresets}
      scope={{
        endpointId: {
          label: "Endpoint",
          every: "every endpoint",
          options: endpoints.map(({ id, url }) => ({ value: id, text: url })),
        },
        event: { label: "Event", every: "every event", options: catalog.map(({ name }) => name) },
      }}
      onAdd={(rule) => control.addFaults({ deliveries: [rule] })}
    />
  );
}

/** How often a fault is injected: the next ones, or each with a probability. */
type Frequency<Fault> =
  | { readonly instructions: Fault[] }
  | { readonly chances: { readonly probability: number; readonly fault: Fault }[] };

interface Props<Fault> {
  readonly title: string;
  readonly presets: readonly Preset<Fault>[];
  /** Choices of what the fault is limited to, by field of its rule. */
  readonly scope: Readonly<Record<string, { label: string; every: string; options: Options }>>;
  readonly onAdd: (rule: Frequency<Fault>) => Promise<unknown>;
}

function AddFault<Fault>({ title, presets, scope, onAdd }: Props<Fault>) {
  const [label, setLabel] = useState(presets[0]?.label ?? "");
  const [often, setOften] = useState("1");
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const preset = presets.find((candidate) => candidate.label === label);
  const limits = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== ""));
  return (
    <section class="panel" aria-label={title}>
      <h3>{title}</h3>
      <div class="tools fill">
        <SelectField
          label="Fault"
          value={label}
          options={presets.map((each) => each.label)}
          onSelect={setLabel}
        />
        <TextField label="How often: 3, or 20 %" value={often} onInput={setOften} />
      </div>
      <Actions class="tools fill">
        {Object.entries(scope).map(([field, choice]) => (
          <SelectField
            key={field}
            {...choice}
            value={chosen[field] ?? ""}
            onSelect={(value) => setChosen({ ...chosen, [field]: value })}
          />
        ))}
        <ActionButton
          label="Add"
          onRun={() => preset && onAdd({ ...limits, ...frequencyOf(preset.fault, often) })}
          class="primary"
          name={`Add: ${title}`}
        />
      </Actions>
    </section>
  );
}

/** @throws Error for a text that is neither a count nor a percentage */
function frequencyOf<Fault>(fault: Fault, often: string): Frequency<Fault> {
  const [, digits, percent] = /^\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/.exec(often) ?? [];
  const number = Number(digits);
  if (percent && number <= 100) return { chances: [{ probability: number / 100, fault }] };
  if (!percent && Number.isInteger(number) && number >= 1 && number <= 10_000)
    return { instructions: Array.from({ length: number }, () => fault) };
  throw new Error("expected a count from 1 to 10000, such as 3, or a percentage, such as 20 %");
}
