import type { ComponentChildren } from "preact";
import type { Filter } from "../../address.ts";
import { goTo } from "../../route.ts";
import { shortId } from "../../text/format.ts";
import { titleOf } from "../../view.ts";
import { Button } from "../controls/button.tsx";
import { type Options, Select, valuesOf } from "../controls/fields.tsx";
import { useKeys } from "../controls/keys.ts";
import { Waiting } from "../status/waiting.tsx";
import type { PagedList } from "./pages.ts";
import { WindowedRows, type WindowedRowsProps } from "./windowed-rows.tsx";
import "./list-view.css";

/** A field of the filter: a choice of `options`, or any text. */
interface FilterField {
  /** In the filter. */
  readonly name: string;
  readonly label: string;
  readonly options?: Options | undefined;
  readonly placeholder?: string | undefined;
}

interface Props<Row> extends Pick<WindowedRowsProps<Row>, "keyOf" | "columns"> {
  /** Name of the view, which is also what it lists: `tasks`. */
  readonly view: string;
  readonly id: string | null;
  readonly filter: Filter;
  readonly fields: readonly FilterField[];
  readonly actions?: ComponentChildren;
  readonly list: PagedList<Row>;
  /** In an empty list that is not filtered. */
  readonly nothing: ComponentChildren;
  readonly detail: (id: string) => ComponentChildren;
}

/** A list and the detail of the selected row: side by side, or one in place of the other on a narrow screen. */
export function ListView<Row>(props: Props<Row>) {
  const { view, id, filter, list } = props;
  const close = () => goTo(view, null, filter);
  const isFiltered = Object.keys(filter).length > 0;
  useKeys({ Escape: close });
  return (
    <>
      <div class="title-bar">
        <h2>{titleOf(view)}</h2>
        <div class="tools filters">
          {props.fields.map(({ name, label, options, placeholder }, index) => {
            const chosen = filter[name] ?? "";
            // An address can name a choice that does not exist.
            const isKnown = !options || valuesOf(options).includes(chosen);
            const value = isKnown ? chosen : "";
            const change = (value: string) => goTo(view, id, { ...filter, [name]: value });
            return options ? (
              <Select
                key={name}
                isFilter={index === 0}
                label={label}
                // A narrow screen has room for two fields, and for those that hide rows.
                class={index > 1 && value === "" ? "narrowing" : undefined}
                value={value}
                every={`every ${label}`}
                options={options}
                onSelect={change}
              />
            ) : (
              <input
                key={name}
                data-filter
                type="search"
                aria-label={label}
                placeholder={placeholder}
                value={value}
                onInput={(event) => change(event.currentTarget.value)}
              />
            );
          })}
          {Object.entries(filter)
            .filter(([name]) => !props.fields.some((field) => field.name === name))
            .map(([name, value]) => (
              <Button
                key={name}
                label={`${name} ${value === "true" ? "" : shortId(value)} ✕`}
                name={`remove the filter ${name}`}
                onClick={() => goTo(view, id, { ...filter, [name]: "" })}
              />
            ))}
        </div>
        {props.actions}
      </div>
      <div class={id ? "split list-view" : "split list-view alone"}>
        <WindowedRows
          label={`${titleOf(view)}, newest first`}
          rows={list.rows}
          keyOf={props.keyOf}
          columns={props.columns}
          selected={id}
          onSelect={(key) => goTo(view, key, filter)}
          nothing={
            list.loading ? (
              <Waiting />
            ) : isFiltered ? (
              <>
                Nothing matches the filter. <Button label="Show all" onClick={() => goTo(view, id)} />
              </>
            ) : (
              props.nothing
            )
          }
          footer={!list.done && <Button label="Load older" class="load-older" onClick={list.loadOlder} />}
        />
        {id && (
          <section class="detail" aria-label="Selected row">
            <Button label={`‹ All ${view}`} class="quiet back" onClick={close} />
            {props.detail(id)}
          </section>
        )}
      </div>
    </>
  );
}
