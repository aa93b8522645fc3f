// Loads Node's test runner without the hook by which it follows every promise and callback to the test that has made it: that
// takes a fifth of the processor time of all tests. It is asked only whom to blame for an error that nobody has caught. Without
// it such an error still fails the file, with its stack, but no test by its name.
import asyncHooks from 'node:async_hooks';

/** To be called before anything else imports `node:test`. */
export async function loadTestRunner() {
  const { createHook } = asyncHooks;
  const none = { enable: () => none, disable: () => none };
  // the runner makes its hook while it is loaded
  asyncHooks.createHook = () => none;
  try {
    return await import('node:test');
  } finally {
    asyncHooks.createHook = createHook;
  }
}
