/**
 * The order in which one endpoint's attempts start: at most so many at a time, and about one subject (a
 * task) one after the other, so that without faults a task's events arrive in the order in which they
 * happened while tasks do not wait for each other. A receiver that hangs holds up its own lane only.
 */
export interface Lane<Item> {
  /** Lets `item` start as soon as the lane allows. */
  enqueue(subject: string, item: Item): void;
}

export type LaneOptions<Item> = {
  readonly inFlightMax: number;
  /** Asked just before the start; `false` takes the item out of the lane. */
  readonly mayStart: (item: Item) => boolean;
  /** Never rejects. */
  readonly start: (item: Item) => Promise<void>;
};

type Place<Item> = { readonly subject: string; readonly item: Item };

export function createLane<Item>({ inFlightMax, mayStart, start }: LaneOptions<Item>): Lane<Item> {
  const ready = createQueue<Place<Item>>();
  // A subject that is ready or in flight is a key here; its value are those that wait behind it.
  const behind = new Map<string, Place<Item>[]>();
  let inFlight = 0;

  const leave = (subject: string) => {
    const next = behind.get(subject)?.shift();
    if (next) ready.put(next);
    else behind.delete(subject);
  };

  const pump = () => {
    while (inFlight < inFlightMax) {
      const place = ready.take();
      if (!place) return;
      if (mayStart(place.item)) run(place);
      else leave(place.subject);
    }
  };

  const run = ({ subject, item }: Place<Item>) => {
    inFlight++;
    void start(item).then(() => {
      inFlight--;
      leave(subject);
      pump();
    });
  };

  return {
    enqueue(subject, item) {
      const place = { subject, item };
      const waiting = behind.get(subject);
      if (waiting) {
        waiting.push(place);
        return;
      }
      behind.set(subject, []);
      ready.put(place);
      pump();
    },
  };
}

/** First in, first out, in constant time also when long. */
function createQueue<Item>() {
  let items: Item[] = [];
  let head = 0;
  return {
    put: (item: Item) => items.push(item),
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
