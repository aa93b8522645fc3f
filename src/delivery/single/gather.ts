// Gathers the single messages of one turn of the event loop, because encrypting several together is cheaper. A message
// waits longer than one turn only if there are more than `maxTaken`.

/** Encrypting this many messages takes one or two milliseconds. More would block the event loop. */
const maxTaken = 64;

/** @param take gets 1 to 64 items, in the order in which they were added */
export function gatherTurn<Item>(take: (items: readonly Item[]) => void) {
  const waiting: Item[] = [];
  let next: NodeJS.Immediate | undefined;
  const takeSome = (): void => {
    const items = waiting.splice(0, maxTaken);
    next = waiting.length > 0 ? setImmediate(takeSome) : undefined;
    take(items);
  };
  return {
    add(item: Item): void {
      waiting.push(item);
      next ??= setImmediate(takeSome);
    },
    /** Takes everything that is waiting, at once. */
    flush(): void {
      clearImmediate(next);
      while (waiting.length > 0) take(waiting.splice(0, maxTaken));
      next = undefined;
    },
  };
}
