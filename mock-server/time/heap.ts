export interface Heap<Item> {
  push(item: Item): void;
  /** The first item, without removing it. */
  peek(): Item | undefined;
  pop(): Item | undefined;
  readonly size: number;
}

/** A binary heap in the order of `before`. */
export function createHeap<Item>(before: (a: Item, b: Item) => boolean): Heap<Item> {
  const items: Item[] = [];
  const at = (index: number) => items[index] as Item;

  const rise = (index: number) => {
    const item = at(index);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(item, at(parent))) break;
      items[index] = at(parent);
      index = parent;
    }
    items[index] = item;
  };

  const sink = (index: number) => {
    const item = at(index);
    for (let child = 2 * index + 1; child < items.length; child = 2 * index + 1) {
      if (child + 1 < items.length && before(at(child + 1), at(child))) child++;
      if (!before(at(child), item)) break;
      items[index] = at(child);
      index = child;
    }
    items[index] = item;
  };

  return {
    push(item) {
      items.push(item);
      rise(items.length - 1);
    },
    peek: () => items[0],
    pop() {
      const top = items[0];
      const last = items.pop();
      if (items.length > 0) {
        items[0] = last as Item;
        sink(0);
      }
      return top;
    },
    get size() {
      return items.length;
    },
  };
}
