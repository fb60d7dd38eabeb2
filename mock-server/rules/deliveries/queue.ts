/** First in, first out, in constant time also when long. */
export function createQueue<Item>() {
  let items: Item[] = [];
  let head = 0;
  return {
    put: (item: Item) => items.push(item),
    peek: (): Item | undefined => items[head],
    take(): Item | undefined {
      const item = items[head++];
      if (head > 1_000 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      if (item === undefined) head = items.length;
      return item;
    },
  };
}
