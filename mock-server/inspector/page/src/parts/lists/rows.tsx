import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { formatTimeNear } from "../../text/format.ts";
import { Button } from "../controls/button.tsx";
import { useKeys } from "../controls/keys.ts";
import { Time } from "../values/time.tsx";
import "./rows.css";

export interface Column<Row> {
  readonly title: string;
  readonly widths: ColumnWidths;
  readonly class?: "muted" | "two-lines" | undefined;
  readonly cell: (row: Row) => ComponentChildren;
  /** What rows are sorted by. Default: the cell, when it is a text or a number; otherwise they cannot be. */
  readonly value?: ((row: Row) => string | number) | undefined;
}

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

/** By how many rows the page keys move. */
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
    document.getElementById(`row-${keyOf(row)}`)?.scrollIntoView({ block: "nearest" });
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
        aria-activedescendant={selectedIndex < 0 ? undefined : `row-${selected}`}
        onKeyDown={onKeyDown}
      >
        {rows.map((row) => {
          const key = keyOf(row);
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list itself takes the keys, for all of its rows.
            <div
              class="row"
              key={key}
              id={`row-${key}`}
              role="option"
              tabIndex={-1}
              aria-selected={key === selected}
              onClick={() => onSelect(key)}
            >
              {columns.map(({ title, widths, class: style, cell }) => (
                <span key={title} class={cellClass(widths, style)}>
                  {cell(row)}
                </span>
              ))}
            </div>
          );
        })}
      </div>
      {props.footer}
    </div>
  );
}

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
