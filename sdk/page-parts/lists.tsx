import { type ComponentChildren, toChildArray } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button, type Options, Select, useKeys, valuesOf } from "./controls.tsx";
import { encode, type Filter, goTo, titleOf } from "./route.ts";
import { useResource } from "./state.ts";
import { formatRange, formatTimeNear, plural, shortId } from "./text.ts";
import { Time, Waiting } from "./values.tsx";

/** A field of the filter: a choice of `options`, or any text. */
interface FilterField {
  /** Its name in the filter. */
  readonly name: string;
  readonly label: string;
  readonly options?: Options | undefined;
  readonly placeholder?: string | undefined;
}

interface ListViewProps<Row> extends Pick<RowsProps<Row>, "keyOf" | "columns"> {
  /** Name of the view, which is also what it lists: `tasks`. */
  readonly view: string;
  readonly id: string | null;
  readonly filter: Filter;
  readonly fields: readonly FilterField[];
  readonly actions?: ComponentChildren;
  /** The chart is above the list. */
  readonly chart?: ComponentChildren;
  readonly list: PagedList<Row>;
  /** What an empty list shows that is not filtered. */
  readonly nothing: ComponentChildren;
  readonly detail: (id: string) => ComponentChildren;
}

/** A list and the detail of the selected row: side by side, or one in place of the other on a narrow screen. */
export function ListView<Row>(props: ListViewProps<Row>) {
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
            <FilterChip
              text={formatRange(from, to)}
              effect="show all times"
              onRemove={() => change({ from: "", to: "" })}
            />
          )}
          {Object.entries(others)
            .filter(([name]) => !props.fields.some((field) => field.name === name))
            .map(([name, value]) => (
              <FilterChip
                key={name}
                text={`${name} ${shortId(value)}`}
                effect="remove the filter"
                onRemove={() => change({ [name]: "" })}
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
                Nothing{" "}
                {list.looked === undefined ? "" : `of ${plural(list.looked, "row")} that were looked at `}
                matches the filter. <Button label="Show all" onClick={() => goTo(view, id)} />
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

interface ChipProps {
  readonly text: string;
  readonly effect: string;
  readonly onRemove: () => void;
}

/** A part of the filter that has no field. */
const FilterChip = ({ text, effect, onRemove }: ChipProps) => (
  <Button label={`${text} ✕`} name={`${text} ✕, ${effect}`} onClick={onRemove} />
);

export interface Column<Row> {
  readonly title: string;
  readonly widths: ColumnWidths;
  readonly class?: "muted" | undefined;
  readonly cell: (row: Row) => Cell;
  /** What rows are sorted by. Default: the cell, when it is a text or a number; otherwise they cannot be. */
  readonly value?: ((row: Row) => string | number) | undefined;
}

/** What a row shows in a column; a pair is a line above another one. */
type Cell = ComponentChildren | readonly [above: ComponentChildren, below: ComponentChildren];

/**
 * Widths of a CSS grid column in a list that fills the page, that is beside a detail, and on a phone; a list of that
 * size leaves out the column with `null`, and so does a smaller one.
 */
export type ColumnWidths =
  | readonly [full: string, half: string, narrow: string | null]
  | readonly [full: string, half: null, narrow: null];

export const column = <Row,>(
  title: string,
  widths: ColumnWidths,
  cell: Column<Row>["cell"],
  more: Pick<Column<Row>, "class" | "value"> = {},
): Column<Row> => ({ title, widths, cell, ...more });

/** When something happened, wide enough for dates if the first or last row has another day than `nowMs`. */
export function timeColumn<Row>(
  title: string,
  rows: readonly Row[],
  timeOf: (row: Row) => string,
  nowMs: number,
): Column<Row> {
  const hasDates = [rows[0], rows.at(-1)].some((row) => row && formatTimeNear(timeOf(row), nowMs).length > 8);
  const width = hasDates ? "106px" : "66px";
  const cell = (row: Row) => <Time at={timeOf(row)} />;
  // A phone needs the width for what a row is about.
  return column(title, [width, width, null], cell, { class: "muted", value: timeOf });
}

/** The title of a column, behind a `-` for the largest first; `undefined`: the order of the list. */
export interface Sort {
  readonly by: string | undefined;
  readonly onSort: (by: string) => void;
}

export interface RowsProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
  readonly selected: string | null;
  readonly onSelect: (key: string) => void;
  readonly sort: Sort;
  readonly nothing: ComponentChildren;
  readonly footer?: ComponentChildren;
}

/** The page keys move by so many rows. */
const pageKeyRows = 10;

/** A list with one tab stop; the arrow keys, Home, End and the page keys move the selection, j and k from anywhere. */
export function Rows<Row>(props: RowsProps<Row>) {
  const { keyOf, columns, selected, onSelect, sort } = props;
  const rows = sorted(props.rows, columns, sort.by);
  const selectedIndex = rows.findIndex((row) => keyOf(row) === selected);
  // Keys can be pressed faster than the page draws: each one starts from the target of the one before.
  const at = useRef(selectedIndex);
  at.current = selectedIndex;

  const select = (index: number) => {
    const bounded = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[bounded];
    if (row === undefined) return;
    at.current = bounded;
    onSelect(keyOf(row));
    document.getElementById(idOf(keyOf(row)))?.scrollIntoView({ block: "nearest" });
  };

  useKeys({ j: () => select(at.current + 1), k: () => select(at.current - 1) });

  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: at.current + 1,
      ArrowUp: at.current - 1,
      PageDown: at.current + pageKeyRows,
      PageUp: at.current - pageKeyRows,
      Home: 0,
      End: rows.length - 1,
    };
    const target = moves[event.key];
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    select(target);
  };

  return (
    <div class="rows" style={gridStyle(columns)}>
      <div class="row column-titles">
        {columns.map((column) => (
          <span key={column.title} class={cellClass(column.widths)}>
            {rows[0] && isSortable(sortValueOf(column, rows[0])) ? (
              <SortButton title={column.title} sort={sort} />
            ) : (
              column.title
            )}
          </span>
        ))}
      </div>
      {rows.length === 0 && <div class="nothing">{props.nothing}</div>}
      <div
        role="listbox"
        tabIndex={0}
        aria-label={props.label}
        aria-activedescendant={selected === null || selectedIndex < 0 ? undefined : idOf(selected)}
        onKeyDown={onKeyDown}
      >
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list itself takes the keys, for all of its rows.
            <div
              class="row"
              key={key}
              id={idOf(key)}
              role="option"
              tabIndex={-1}
              aria-selected={key === selected}
              onClick={() => onSelect(key)}
            >
              {columns.map(({ title, widths, class: style, cell }) => {
                const shown = cell(row);
                const lines = Array.isArray(shown) ? shown.map(lineOf) : undefined;
                return (
                  <span key={title} class={cellClass(widths, lines ? "two-lines" : style)}>
                    {lines ?? shown}
                  </span>
                );
              })}
            </div>
          );
        })}
      </div>
      {props.footer}
    </div>
  );
}

/** Each line is an element of its own. */
const lineOf = (line: ComponentChildren) => (typeof line === "string" ? <span>{line}</span> : line);

/** An id without white space, which separates the ids of an attribute. */
const idOf = (key: string) => `row-${encode(key)}`;

/** The largest first, then the smallest first, then the order of the list again. */
function SortButton({ title, sort: { by, onSort } }: { readonly title: string; readonly sort: Sort }) {
  const next = by === `-${title}` ? title : by === title ? "" : `-${title}`;
  const arrow = by === `-${title}` ? " ↓" : by === title ? " ↑" : "";
  const label = `${title}${arrow}`;
  return <Button label={label} name={`${label}: sort`} class="quiet" onClick={() => onSort(next)} />;
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], by: string | undefined) {
  const column = columns.find(({ title }) => title === by?.replace(/^-/, ""));
  if (!column) return rows;
  const value = (row: Row) => sortValueOf(column, row) ?? "";
  const ascending = [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
  return by?.startsWith("-") ? ascending.reverse() : ascending;
}

const sortValueOf = <Row,>({ value, cell }: Column<Row>, row: Row) => (value ?? cell)(row);
const isSortable = (value: unknown) =>
  value === null || typeof value === "string" || typeof value === "number";

const cellClass = ([, half, narrow]: ColumnWidths, style?: string) =>
  [style, half === null && "not-half", narrow === null && "not-narrow"].filter(Boolean).join(" ") ||
  undefined;

const gridStyle = <Row,>(columns: readonly Column<Row>[]) =>
  Object.fromEntries(
    ["--columns-full", "--columns-half", "--columns-narrow"].map((name, index) => [
      name,
      columns.flatMap(({ widths }) => widths[index] ?? []).join(" "),
    ]),
  );

/** A browser draws as many at once. */
const pageRows = 500;

interface ListQuery {
  readonly order: "desc";
  readonly limit: number;
  readonly iterator?: string | undefined;
}

export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly looked?: number | undefined;
  /** Absent: there are none. */
  readonly showOlder?: (() => void) | undefined;
  /** Absent: these are the newest. */
  readonly showNewest?: (() => void) | undefined;
}

/** A page of a list, as a server responds with it. */
interface Page<Row> {
  readonly data: readonly Row[];
  /** The next page begins here; absent: this is the last one. */
  readonly iterator?: string | null | undefined;
  /** How many rows the server looked at; absent: all that could match. */
  readonly looked?: number;
}

/** A page of a list, at first the newest rows. */
export function usePages<Row>(
  key: string,
  topics: readonly string[],
  readPage: (query: ListQuery) => Promise<Page<Row>>,
  revision: (rows: readonly Row[]) => number = () => 0,
): PagedList<Row> {
  const [older, setOlder] = useState<{ readonly key: string; readonly iterator: string } | null>(null);
  const iterator = older?.key === key ? older.iterator : undefined;
  const page = useResource(
    `${key} ${iterator}`,
    topics,
    () => readPage({ order: "desc", limit: pageRows, iterator }),
    (read) => revision(read?.data ?? []),
  );
  const next = page?.iterator;
  return {
    rows: page?.data ?? [],
    loading: page === undefined,
    looked: page?.looked,
    showOlder: next ? () => setOlder({ key, iterator: next }) : undefined,
    showNewest: iterator ? () => setOlder(null) : undefined,
  };
}

interface ListPanelProps {
  readonly title: string;
  /** Text of the empty list. */
  readonly nothing?: string | false | null | undefined;
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
}

/** A panel with a short list of one-line items. */
export function ListPanel({ title, nothing, class: style = "", children, footer }: ListPanelProps) {
  return (
    <section class="panel">
      <h3>{title}</h3>
      {nothing && toChildArray(children).length === 0 && <p class="muted">{nothing}</p>}
      <ul class={`items ${style}`}>{children}</ul>
      {footer}
    </section>
  );
}
