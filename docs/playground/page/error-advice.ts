import errors from "../../errors.md?raw";
import mockErrors from "../../mock-errors.md?raw";

/** What to do about an error: the documents say it below a heading with its code. `undefined` for a code without one. */
export function adviceFor(code: string): string | undefined {
  for (const text of [errors, mockErrors]) {
    const sections = text
      .split(/^#+ /m)
      .filter((section) => section.split("\n", 1)[0]?.split(", ").includes(code));
    const fix = /\*\*Fix\*\*: ([\s\S]*?)\n\n/.exec(`${sections[0] ?? ""}\n\n`)?.[1];
    if (fix)
      return fix
        .replace(/\s+/g, " ")
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replaceAll("`", "");
  }
  return undefined;
}
