// The oracle over everything that is shown, at each moment.
import { addOracleTest } from './oracle/suite.ts';

addOracleTest(true);
