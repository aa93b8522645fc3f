// What a test has opened, with its end.
/** For `await using`: what is closed at the end of the block. */
export function closing<Opened extends { close(): unknown }>(opened: Opened): Opened & AsyncDisposable {
  return Object.assign(opened, {
    [Symbol.asyncDispose]: async () => {
      await opened.close();
    },
  });
}
