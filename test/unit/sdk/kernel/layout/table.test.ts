import { expect, it } from "vitest";
import { renderTable } from "../../../../../sdk/kernel/layout.ts";

const columns = [
  { title: "ID" },
  { title: "STATE", paint: (state: string) => `<${state}>` },
  { title: "TRIES", optional: true },
  { title: "ERROR", flexible: true },
];
const rows = [
  ["one", "dead", "8", "Error: the client is not known"],
  ["three", "done", "1", ""],
];

it("a table is aligned, with painted cells, when it fits", () => {
  expect(renderTable(columns, rows, Number.POSITIVE_INFINITY)).toBe(
    "ID     STATE  TRIES  ERROR\none    <dead>   8      Error: the client is not known\nthree  <done>   1\n",
  );
});

it("a table that is too wide shortens the flexible column, and leaves optional ones out when that is not enough", () => {
  expect(renderTable(columns, rows, 40).split("\n")[1]).toBe("one    <dead>   8      Error: the client…");
  expect(renderTable(columns, rows, 30).split("\n").slice(0, 2)).toEqual([
    "ID     STATE  ERROR",
    "one    <dead>   Error: the…",
  ]);
});

it("a column without text is left out", () => {
  expect(renderTable([{}, {}, {}], [["a", "", "b"]], 80)).toBe("a  b\n");
});

it("a table may have more rows than a call has arguments", () => {
  const many = Array.from({ length: 200_000 }, () => ["a"]);
  expect(renderTable([{}], many, 80)).toHaveLength(many.length * "a\n".length);
});

it("a table that is too wide shortens ids first, to their ends", () => {
  const ids = [{ title: "ID", keepsEnd: 6 }, { title: "STATE" }, { title: "ERROR", flexible: 10 }];
  const table = (width: number) => renderTable(ids, [["019bc186-0001", "dead", "no such client"]], width);
  expect(table(36)).toBe("ID             STATE  ERROR\n019bc186-0001  dead   no such client\n");
  expect(table(30)).toBe("ID       STATE  ERROR\n…6-0001  dead   no such client\n");
  expect(table(25)).toBe("ID      STATE  ERROR\n…-0001  dead   no such…\n");
});
