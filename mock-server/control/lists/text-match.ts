/** Whether one of the texts contains `text`, in either case. */
export type TextMatch = (...texts: readonly (string | null | undefined)[]) => boolean;

/** `undefined` matches everything. */
export function createTextMatch(text: string | undefined): TextMatch {
  if (text === undefined) return () => true;
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  return (...texts) => texts.some((each) => each != null && pattern.test(each));
}
