import type { ComponentChildren } from "preact";
import type { Filter } from "../address.ts";
import { goTo } from "../route.ts";
import { useKeys } from "./keys.ts";
import type { PagedList } from "./pages.ts";
import { type Options, Select } from "./select.tsx";
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
  readonly title: string;
  readonly id: string | null;
  readonly filter: Filter;
  readonly fields: readonly FilterField[];
  readonly actions?: ComponentChildren;
  readonly list: PagedList<Row>;
  /** The rows to show, unless all. */
  readonly rows?: readonly Row[] | undefined;
  /** Text of the empty list. */
  readonly nothing: string;
  readonly detail: (id: string) => ComponentChildren;
}

/** A list and the detail of the selected row: side by side, or one in place of the other on a narrow screen. */
export function ListView<Row>(props: Props<Row>) {
  const { view, id, filter, list } = props;
  const close = () => goTo(view, null, filter);
  useKeys({ Escape: close });
  return (
    <>
      <div class="title-bar">
        <h2>{props.title}</h2>
        <div class="tools">
          {props.fields.map(({ name, label, options, placeholder }, index) => {
            const value = filter[name] ?? "";
            const change = (value: string) => goTo(view, id, { ...filter, [name]: value });
            return options ? (
              <Select
                key={name}
                isFilter={index === 0}
                label={label}
                // A narrow screen has room for two fields.
                class={index > 1 ? "narrowing" : undefined}
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
        </div>
        {props.actions}
      </div>
      <div class="split list-view">
        <WindowedRows
          label={`${props.title}, newest first`}
          rows={props.rows ?? list.rows}
          keyOf={props.keyOf}
          columns={props.columns}
          selected={id}
          onSelect={(key) => goTo(view, key, filter)}
          nothing={list.loading ? "Loading …" : props.nothing}
          footer={
            !list.done && (
              <button type="button" class="load-older" onClick={list.loadOlder}>
                Load older
              </button>
            )
          }
        />
        {id ? (
          <section class="detail" aria-label="Selected row">
            <button type="button" class="quiet back" onClick={close}>
              ‹ All {view}
            </button>
            {props.detail(id)}
          </section>
        ) : (
          <div class="nothing">
            Select a row, or press <kbd>j</kbd>.
          </div>
        )}
      </div>
    </>
  );
}
