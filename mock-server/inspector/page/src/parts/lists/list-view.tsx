import type { ComponentChildren } from "preact";
import type { Filter } from "../../address.ts";
import { goTo } from "../../route.ts";
import { formatRange, shortId } from "../../text/format.ts";
import { titleOf } from "../../view.ts";
import { Button } from "../controls/button.tsx";
import { type Options, Select, valuesOf } from "../controls/fields.tsx";
import { useKeys } from "../controls/keys.ts";
import { Waiting } from "../status/waiting.tsx";
import type { PagedList } from "./pages.ts";
import { Rows, type RowsProps } from "./rows.tsx";
import "./list-view.css";

/** A field of the filter: a choice of `options`, or any text. */
interface FilterField {
  /** In the filter. */
  readonly name: string;
  readonly label: string;
  readonly options?: Options | undefined;
  readonly placeholder?: string | undefined;
}

interface Props<Row> extends Pick<RowsProps<Row>, "keyOf" | "columns"> {
  /** Name of the view, which is also what it lists: `tasks`. */
  readonly view: string;
  readonly id: string | null;
  readonly filter: Filter;
  readonly fields: readonly FilterField[];
  readonly actions?: ComponentChildren;
  /** Above the list. */
  readonly chart?: ComponentChildren;
  readonly list: PagedList<Row>;
  /** In an empty list that is not filtered. */
  readonly nothing: ComponentChildren;
  readonly detail: (id: string) => ComponentChildren;
}

/** A list and the detail of the selected row: side by side, or one in place of the other on a narrow screen. */
export function ListView<Row>(props: Props<Row>) {
  const { view, id, filter, list } = props;
  const close = () => goTo(view, null, filter);
  const { sort, from, to, ...others } = filter;
  const isFiltered = Object.keys(filter).some((name) => name !== "sort");
  const change = (changed: Filter) => goTo(view, id, { ...filter, ...changed });
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
                onSelect={(value) => change({ [name]: value })}
              />
            ) : (
              <input
                key={name}
                data-filter
                type="search"
                aria-label={label}
                placeholder={placeholder}
                value={value}
                onInput={(event) => change({ [name]: event.currentTarget.value })}
              />
            );
          })}
          {(from || to) && (
            <Button
              label={`${formatRange(from, to)} ✕`}
              name={`${formatRange(from, to)} ✕, show all times`}
              onClick={() => change({ from: "", to: "" })}
            />
          )}
          {Object.entries(others)
            .filter(([name]) => !props.fields.some((field) => field.name === name))
            .map(([name, value]) => (
              <Button
                key={name}
                label={`${name} ${value === "true" ? "" : shortId(value)} ✕`}
                name={`${name} ${value === "true" ? "" : shortId(value)} ✕, remove the filter`}
                onClick={() => change({ [name]: "" })}
              />
            ))}
        </div>
        {props.actions}
      </div>
      {props.chart}
      <div class={id ? "split list-view" : "split list-view alone"}>
        <Rows
          label={`${titleOf(view)}, ${sort ? `sorted by ${sort.replace(/^-/, "")}` : "newest first"}`}
          rows={list.rows}
          keyOf={props.keyOf}
          columns={props.columns}
          selected={id}
          sort={{ by: sort, onSort: (by) => change({ sort: by }) }}
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
          footer={
            <div class="tools pages">
              {list.showNewest && <Button label="Newest" onClick={list.showNewest} />}
              {list.showOlder && (
                <Button
                  label={sort ? `Sorted: these ${list.rows.length}. Older` : "Older"}
                  onClick={list.showOlder}
                />
              )}
            </div>
          }
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
