// Changes only what differs, so that focus, selection, open details and scroll positions stay.

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
    // the reader has opened it
    const isReaders = name === 'open' && old.nodeName === 'DETAILS';
    if (!wanted.hasAttribute(name) && !isReaders) old.removeAttribute(name);
  }
}

/** True unless replacing the content would change the control that has the focus. */
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
