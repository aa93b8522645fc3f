// What faults of push services that are nearer or farther cost a broadcast, by one and two workers.
import { testFaults } from './imperfect-broadcasts.ts';

testFaults(100, 1);
testFaults(100, 2);
testFaults(300, 2);
testFaults(500, 1);
testFaults(500, 2, { cases: /503|late/ });
testFaults(500, 2, { cases: /GOAWAY|reset/, rows: 20_000 });
