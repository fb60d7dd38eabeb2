import type { ApiFault, DeliveryFault } from "@workspace-tasks/mock-server/control";
import {
  ActionButton,
  Actions,
  type Options,
  SelectField,
  TextField,
} from "@workspace-tasks/page-parts/controls.tsx";
import { useResource } from "@workspace-tasks/page-parts/state.ts";
import { useState } from "preact/hooks";
import { nameOfKey, routerOptions } from "../run/request-keys.ts";
import { control } from "../state/mock.ts";
import { apiPresets, deliveryPresets, type Preset } from "../text/fault-labels.ts";

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
