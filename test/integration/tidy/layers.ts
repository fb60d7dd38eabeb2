// ARCHITECTURE.md lists the layers of each product, the highest first: a line is a layer, a word is a file or a
// folder. An import may go to a lower line, or stay within its word. The same list is read here, so it cannot be stale.
import { packageOf } from "./house-rules.ts";
import { cycles, folderGraph, importGraph, type SourceFile } from "./import-graph.ts";

/** The words of each line, by the folder of the product. */
export type Layers = ReadonlyMap<string, readonly (readonly string[])[]>;

/** Reads the blocks marked ```layers <folder> of a Markdown text. */
export function readLayers(markdown: string): Layers {
  const blocks = [...markdown.matchAll(/^```layers (\S+)\n([\s\S]*?)^```$/gm)];
  return new Map(
    blocks.map(([, folder = "", text = ""]) => [
      folder,
      text
        .trim()
        .split("\n")
        .map((line) => line.replace(/ {2,}.*/, "").split(" ")),
    ]),
  );
}

/** What is wrong with the imports of the files, a sentence each; nothing when all go downwards. */
export function layerViolations(files: readonly SourceFile[], layers: Layers): readonly string[] {
  return [...layers].flatMap(([product, lines]) => {
    const inside = files.filter(({ path }) => packageOf(path) === product && /\.tsx?$|\/bin\//.test(path));
    const graph = importGraph(inside);
    const placeOf = placement(product, lines);
    const imports = [...graph].flatMap(([from, targets]) =>
      targets.filter((target) => graph.has(target)).map((to) => ({ from, to })),
    );
    return [
      ...missing(inside, placeOf),
      ...absent(product, lines, inside),
      ...imports.flatMap(({ from, to }) => violation(from, to, placeOf)),
      ...cycles(graph).map((files) => `a cycle of files: ${files.join(", ")}`),
      ...cycles(folderGraph(withoutRoot(graph, product))).map(
        (all) => `a cycle of folders: ${all.join(", ")}`,
      ),
    ];
  });
}

interface Place {
  readonly line: number;
  readonly word: string;
}

/** The line and the word that a file belongs to. */
function placement(product: string, lines: readonly (readonly string[])[]) {
  const places = new Map(
    lines.flatMap((words, line) => words.map((word): [string, Place] => [word, { line, word }])),
  );
  return (path: string): Place | undefined => {
    const [first = "", ...rest] = path.slice(product.length + 1).split("/");
    return places.get(rest.length > 0 ? `${first}/` : first);
  };
}

const missing = (files: readonly SourceFile[], placeOf: (path: string) => Place | undefined) =>
  files.filter(({ path }) => !placeOf(path)).map(({ path }) => `${path} is in no layer of ARCHITECTURE.md`);

const absent = (product: string, lines: readonly (readonly string[])[], files: readonly SourceFile[]) =>
  lines
    .flat()
    .filter((word) => !files.some(({ path }) => `${path}`.startsWith(`${product}/${word}`)))
    .map((word) => `${product}/${word} is in ARCHITECTURE.md and has no file`);

function violation(from: string, to: string, placeOf: (path: string) => Place | undefined): string[] {
  const [above, below] = [placeOf(from), placeOf(to)];
  if (!above || !below || above.word === below.word || above.line < below.line) return [];
  return [
    `${from} imports ${to}, ${above.line > below.line ? "a higher layer" : "its neighbour in one layer"}`,
  ];
}

/** Files at the root of a product are entry points and shared ground; only folders can form a cycle of folders. */
const withoutRoot = (graph: ReadonlyMap<string, readonly string[]>, product: string) =>
  new Map([...graph].filter(([path]) => path.slice(product.length + 1).includes("/")));
