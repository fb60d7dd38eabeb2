/** First in, first out, in constant time also when long. */
export function createQueue<Item>() {
  let items: (Item | undefined)[] = [];
  let head = 0;
  return {
    put: (item: Item) => items.push(item),
    take(): Item | undefined {
      const item = items[head];
      if (item === undefined) return undefined;
      // What was taken can be collected.
      items[head++] = undefined;
      if (head === items.length || (head > 1_000 && head * 2 > items.length)) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}
