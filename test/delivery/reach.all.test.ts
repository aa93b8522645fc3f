// Broadcasts of several slices, in one thread and in two, over both versions of HTTP. `broadcast.test.ts` has one of them.
import { testReach } from './broadcast-bench.ts';

testReach(0, 'HTTP/1.1', 4200);
testReach(0, 'HTTP/2', 4200);
testReach(2, 'HTTP/1.1', 4200);
testReach(2, 'HTTP/2', 4200);
