/** Whether the journal's text of a query can be that of the query as it was sent: the journal redacts and cuts it. */
export function canBeSent(recorded: string | null, sent: string): boolean {
  const [start = ""] = recorded?.split(/"?\[redacted\]/, 1) ?? [];
  return sent.startsWith(start);
}
