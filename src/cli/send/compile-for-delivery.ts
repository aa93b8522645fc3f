// How V8 compiles in a process that does nothing but deliver. `serve --deliver`, and applications, have other code to run.
import { setFlagsFromString } from 'node:v8';

/**
 * V8's last compiler takes some 2 ms for a function, in each thread. After 3000 calls, its default, it compiles much that a broadcast
 * to 100,000 does not call often enough to make up for that; what each message calls is compiled a little later.
 */
export function compileForDelivery(): void {
  setFlagsFromString('--invocation-count-for-turbofan=100000');
}
