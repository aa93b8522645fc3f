// Makes an element have the content that is wanted, and leaves alone what is the same: the focus, a selection, details that are open
// and the place where a table is scrolled to stay.

export function patch(place: Node, wanted: Node): void {
  const present = [...place.childNodes];
  const next = [...wanted.childNodes];
  for (const [index, node] of next.entries()) {
    const old = present[index];
    if (old === undefined) place.appendChild(node);
    else if (old instanceof Element && node instanceof Element && old.nodeName === node.nodeName) {
      patchAttributes(old, node);
      patch(old, node);
    } else if (!old.isEqualNode(node)) old.replaceWith(node);
  }
  for (const old of present.slice(next.length)) old.remove();
}

function patchAttributes(old: Element, wanted: Element): void {
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of old.getAttributeNames()) {
    // whoever looks has opened it
    const isReaders = name === 'open' && old.nodeName === 'DETAILS';
    if (!wanted.hasAttribute(name) && !isReaders) old.removeAttribute(name);
  }
}

/** Whether what has the focus within the place, if anything, is the same control in what is wanted. */
export function keepsFocus(place: Element, wanted: Node): boolean {
  const focused = document.activeElement;
  if (focused === null || focused === place || !place.contains(focused)) return true;
  let [old, next]: [Node, Node | undefined] = [place, wanted];
  while (old !== focused && next !== undefined) {
    const index: number = [...old.childNodes].findIndex((node) => node.contains(focused));
    [old, next] = [old.childNodes[index]!, next.childNodes[index]];
  }
  if (!focused.matches('a, button, input, select, textarea')) return next?.nodeName === focused.nodeName;
  const form = focused.closest('form');
  return (
    next instanceof Element && focused.isEqualNode(next) && form?.action === next.closest('form')?.action
  );
}
