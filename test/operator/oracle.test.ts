// The oracle over the pages of the broadcasts at each moment, and over everything that is shown at two of them.
import { addOracleTest } from './oracle/suite.ts';

addOracleTest(false);
