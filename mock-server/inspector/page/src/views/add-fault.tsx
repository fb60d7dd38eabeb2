import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiFault, DeliveryFault } from "../api-types.ts";
import { ActionButton, Actions } from "../parts/controls/action.tsx";
import { SelectField } from "../parts/controls/select.tsx";
import { TextField } from "../parts/controls/text-field.tsx";
import { operationNames } from "../run/operation-names.ts";
import { control, useResource } from "../state/resource.ts";
import { apiPresets, deliveryPresets, type Preset } from "../text/fault-labels.ts";
import { shortId } from "../text/format.ts";

/** How often a fault is injected: the next so many times, or with a probability. */
interface Frequency {
  readonly isChance: boolean;
  readonly count: number;
  readonly percent: number;
}

const once: Frequency = { isChance: false, count: 1, percent: 10 };

function ruleOf<Fault>(fault: Fault, { isChance, count, percent }: Frequency) {
  return isChance
    ? { chances: [{ probability: percent / 100, fault }] }
    : { instructions: Array.from({ length: count }, () => fault) };
}

export function AddApiFault() {
  const [operation, setOperation] = useState("");
  const [router, setRouter] = useState("");
  const [keyId, setKeyId] = useState("");
  const keys = useResource("keys", ["api-key", "membership"], () => control.listApiKeys())?.data ?? [];
  const keyOptions = keys.map(({ id, role, access }) => ({
    value: id,
    text: `${role ?? "former member"}, ${access}, ${shortId(id)}`,
  }));
  const scope = {
    ...(operation.trim() && { operation: operation.trim() }),
    ...(router && { router: router as "base" | "gateway" }),
    ...(keyId && { keyId }),
  };
  return (
    <AddFault<ApiFault>
      title="On calls to the API"
      presets={apiPresets}
      onAdd={(fault, frequency) => control.addFaults({ api: [{ ...scope, ...ruleOf(fault, frequency) }] })}
    >
      <TextField
        label="Operation"
        placeholder="every operation"
        list="operations"
        value={operation}
        onInput={setOperation}
      />
      <datalist id="operations">
        {operationNames.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <SelectField label="Key" every="every caller" value={keyId} options={keyOptions} onSelect={setKeyId} />
      <SelectField
        label="Router"
        every="both routers"
        value={router}
        options={[
          { value: "base", text: "workspace API" },
          { value: "gateway", text: "partner gateway" },
        ]}
        onSelect={setRouter}
      />
    </AddFault>
  );
}

export function AddDeliveryFault() {
  const [endpointId, setEndpointId] = useState("");
  const [event, setEvent] = useState("");
  const endpoints = useResource("endpoints", ["endpoint"], () => control.listEndpoints())?.data ?? [];
  const catalog = useResource("catalog", ["catalog"], () => control.listCatalog())?.data ?? [];
  const scope = { ...(endpointId && { endpointId }), ...(event && { event }) };
  return (
    <AddFault<DeliveryFault>
      title="On deliveries"
      presets={deliveryPresets}
      onAdd={(fault, frequency) =>
        control.addFaults({ deliveries: [{ ...scope, ...ruleOf(fault, frequency) }] })
      }
    >
      <SelectField
        label="Endpoint"
        every="every endpoint"
        value={endpointId}
        options={endpoints.map(({ id, url }) => ({ value: id, text: url }))}
        onSelect={setEndpointId}
      />
      <SelectField
        label="Event"
        every="every event"
        value={event}
        options={catalog.map(({ name }) => name)}
        onSelect={setEvent}
      />
    </AddFault>
  );
}

interface Props<Fault> {
  readonly title: string;
  readonly presets: readonly Preset<Fault>[];
  readonly onAdd: (fault: Fault, frequency: Frequency) => Promise<unknown>;
  /** Fields of the scope. */
  readonly children: ComponentChildren;
}

function AddFault<Fault extends ApiFault | DeliveryFault>({ title, presets, onAdd, children }: Props<Fault>) {
  const [label, setLabel] = useState(presets[0]?.label ?? "");
  const [frequency, setFrequency] = useState(once);
  const [retryAfter, setRetryAfter] = useState(1);
  const preset = presets.find((candidate) => candidate.label === label)?.fault;
  const hasRetryAfter = preset?.kind === "rate-limited" || preset?.kind === "status";
  const add = async () => {
    if (!preset) return;
    await onAdd(hasRetryAfter ? { ...preset, retryAfterSeconds: retryAfter } : preset, frequency);
  };
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
        {hasRetryAfter && (
          <NumberField
            label="Retry-After, s"
            value={retryAfter}
            min={1}
            max={86_400}
            onChange={setRetryAfter}
          />
        )}
      </div>
      <div class="tools fill">{children}</div>
      <Actions class="tools fill">
        <FrequencyFields frequency={frequency} onChange={setFrequency} />
        <ActionButton onRun={add} class="primary" label={`add: ${title}`}>
          Add
        </ActionButton>
      </Actions>
    </section>
  );
}

interface FrequencyProps {
  readonly frequency: Frequency;
  readonly onChange: (frequency: Frequency) => void;
}

function FrequencyFields({ frequency, onChange }: FrequencyProps) {
  const { isChance, count, percent } = frequency;
  return (
    <>
      <SelectField
        label="How often"
        value={isChance ? "chance" : "count"}
        options={[
          { value: "count", text: "the next ones" },
          { value: "chance", text: "at random" },
        ]}
        onSelect={(value) => onChange({ ...frequency, isChance: value === "chance" })}
      />
      {isChance ? (
        <NumberField
          label="Percent"
          value={percent}
          min={1}
          max={100}
          onChange={(value) => onChange({ ...frequency, percent: value })}
        />
      ) : (
        <NumberField
          label="Count"
          value={count}
          min={1}
          max={10_000}
          onChange={(value) => onChange({ ...frequency, count: value })}
        />
      )}
    </>
  );
}

interface NumberProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly onChange: (value: number) => void;
}

function NumberField({ label, value, min, max, onChange }: NumberProps) {
  // What is typed stays until the field is left: the page is drawn again meanwhile, at each tick of a real clock.
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <label>
      {label}
      <input
        type="number"
        min={min}
        max={max}
        value={typed ?? value}
        onBlur={() => setTyped(null)}
        onInput={({ currentTarget: { value: text, valueAsNumber } }) => {
          setTyped(text);
          if (text !== "") onChange(Math.min(max, Math.max(min, Math.round(valueAsNumber))));
        }}
      />
    </label>
  );
}
