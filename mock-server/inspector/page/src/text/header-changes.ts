type Headers = Readonly<Record<string, string>>;

export interface HeaderChange {
  /** `-`: only before, `+`: only after, a space: in both. */
  readonly sign: "-" | "+" | " ";
  readonly name: string;
  readonly value: string;
}

/** The headers of one message line by line, those that differ from another message first. @param before absent: nothing is compared */
export function headerChanges(before: Headers | undefined, after: Headers): readonly HeaderChange[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const lines = names.flatMap((name): HeaderChange[] => {
    const [old, now] = [before?.[name], after[name]];
    if (now !== undefined && (!before || old === now)) return [{ sign: " ", name, value: now }];
    return [
      ...(old === undefined ? [] : [{ sign: "-", name, value: old } as const]),
      ...(now === undefined ? [] : [{ sign: "+", name, value: now } as const]),
    ];
  });
  return [...lines.filter(({ sign }) => sign !== " "), ...lines.filter(({ sign }) => sign === " ")];
}
