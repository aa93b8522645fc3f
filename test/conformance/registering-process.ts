// Starts the service, registers the subscription that is on the command line, closes the service, and leaves the rest
// to the process: it ends when there is nothing left to do.
import assert from 'node:assert/strict';
import { startConformanceService } from './conformance-service.ts';

const subscription = JSON.parse(process.argv[2]!) as { endpoint: string };
const service = await startConformanceService({ pushServices: [new URL(subscription.endpoint).origin] });
assert.equal((await service.ask('POST', '/webPush', subscription)).status, 200);
await service[Symbol.asyncDispose]();
process.disconnect?.();
