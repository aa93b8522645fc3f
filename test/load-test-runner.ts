// Loads Node's test runner so that it follows a test through its callbacks and promises by an `AsyncLocalStorage`, and not by a
// hook that is called for each promise and each callback there is: that takes a fifth of the processor time of all tests. What it
// is for stays: hooks and tests are those of the suite or test that calls for them, and an error that nobody catches fails the
// test that it comes from.
import asyncHooks, { type HookCallbacks } from 'node:async_hooks';

/** To be called before anything else imports `node:test`, which takes these functions from `node:async_hooks` while it is loaded. */
export async function loadTestRunner() {
  const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } = asyncHooks;
  const current = new AsyncLocalStorage<number>();
  let callbacks: HookCallbacks = {};
  const hook = { enable: () => hook, disable: () => hook };

  /** What tests and suites of the runner are. */
  class FollowedResource extends AsyncResource {
    constructor(...[type, options]: ConstructorParameters<typeof AsyncResource>) {
      super(type, options);
      callbacks.init?.(this.asyncId(), type, this.triggerAsyncId(), this);
    }

    override runInAsyncScope<This, Result>(
      run: (this: This, ...words: any[]) => Result,
      self?: This,
      ...words: any[]
    ): Result {
      // within, since a resource brings the stores of the moment at which it was made
      const follow = (): Result => current.run(this.asyncId(), () => Reflect.apply(run, self as This, words));
      return super.runInAsyncScope(follow);
    }
  }

  asyncHooks.AsyncResource = FollowedResource;
  asyncHooks.executionAsyncId = () => current.getStore() ?? executionAsyncId();
  asyncHooks.createHook = (given) => {
    callbacks = given;
    return hook;
  };
  try {
    return await import('node:test');
  } finally {
    Object.assign(asyncHooks, { AsyncResource, createHook, executionAsyncId });
  }
}
