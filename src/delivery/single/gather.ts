// Single messages that are sent within one turn of the event loop are taken together, since encrypting several costs
// less than each by itself. None waits for longer than the turn, but where there are very many.

export interface Gathering<Item> {
  add(item: Item): void;
  /** Takes at once what is waiting. */
  flush(): void;
}

/** More would keep the event loop from everything else: these take a millisecond or two. */
const maxTaken = 64;

/** @param take is given 1 to 64 items, in the order in which they were added */
export function gatherTurn<Item>(take: (items: readonly Item[]) => void): Gathering<Item> {
  const waiting: Item[] = [];
  let next: NodeJS.Immediate | undefined;
  const takeSome = (): void => {
    const items = waiting.splice(0, maxTaken);
    next = waiting.length > 0 ? setImmediate(takeSome) : undefined;
    take(items);
  };
  return {
    add(item) {
      waiting.push(item);
      next ??= setImmediate(takeSome);
    },
    flush() {
      clearImmediate(next);
      while (waiting.length > 0) take(waiting.splice(0, maxTaken));
      next = undefined;
    },
  };
}
