import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Name of the agent's chart beside a packaged command line. */
const PACKAGED = 'flotilla-spoke.tgz';

/** The agent's chart: beside a packaged command line, or in a checkout; undefined where there is neither. */
export const spokeChart = (): string | undefined =>
  // A literal URL would make the bundler copy the folder.
  [PACKAGED, '../../../../charts/spoke'].map((path) => join(import.meta.dirname, path)).find(existsSync);
