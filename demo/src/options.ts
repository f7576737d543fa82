import { parseArgs } from 'node:util';
import { FlotillaError } from '@flotilla/api';
import { parseRate } from '@flotilla/control-plane/servers';

/** Options of the demo. */
export interface DemoOptions {
  /** Leave everything running at the end, until Ctrl-C. */
  readonly keep: boolean;
  /** Rate of the link to each spoke, as `tc` writes it. */
  readonly rate: string;
  /** Spokes that are pre-cached; one more is not. */
  readonly spokes: number;
  /** The other story: rollouts beside real components of Open Cluster Management. */
  readonly ocm: boolean;
  readonly help: boolean;
}

/** Slow enough to watch, fast enough for the story to take less than three minutes. */
export const DEFAULT_RATE = '50mbit';

/** Text of `--help`. */
export const HELP = `usage: npm run demo -- [options]
Pre-caches a release on a small fleet, rolls it out when its window starts, cuts the links, and starts every image of it there. The fleet is
whole clusters on this machine, which need root on Linux.

  --rate RATE    rate of the link to each spoke, as in 20mbit; default ${DEFAULT_RATE}
  --spokes N     spokes that are pre-cached, 1 to 4; default 2. One more is not, for comparison
  --ocm          another story: two rollouts beside real components of Open Cluster Management 
  --keep         leave it running at the end and print how to look around; ends with Ctrl-C
  --help         this text
`;

/** Parses the command line. Throws `FLOTILLA_DEMO_USAGE` that names the option and what it takes. */
export function parseOptions(args: readonly string[]): DemoOptions {
  const { values } = parse(args);
  const spokes = Number(values.spokes);
  if (!Number.isInteger(spokes) || spokes < 1 || spokes > 4) throw usage(`--spokes ${values.spokes}: must be a whole number from 1 to 4`);
  const { rate = DEFAULT_RATE, ocm, keep, help } = values;
  try {
    parseRate(rate);
  } catch (cause) {
    throw usage(`--rate ${rate}: must be a number and kbit, mbit or gbit, as in ${DEFAULT_RATE}`, cause);
  }
  if (ocm && values.rate !== undefined) throw usage(`--ocm --rate ${rate}: leave out --rate, that story pulls nothing over the links`);
  return { keep, rate, spokes, ocm, help };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        keep: { type: 'boolean', default: false },
        rate: { type: 'string' },
        spokes: { type: 'string', default: '2' },
        ocm: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (cause) {
    throw usage(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

const usage = (message: string, cause?: unknown) => new FlotillaError('FLOTILLA_DEMO_USAGE', `${message}; see --help`, { cause });
