import { FlotillaError } from '@flotilla/api';
import { createClient } from '@flotilla/runtime';
import { Command } from 'commander';
import { z } from 'zod';
import { callersPath, readKubeconfig } from '../config.ts';
import { readOptions } from '../payload/options.ts';
import { table } from '../payload/print.ts';
import { judgeTalmHub, type TalmCheck, type Verdict } from './judge.ts';
import { readTalmHub } from './read.ts';

/** Exit code of an answer that is no. */
const NO = 3;

const Options = z.object({
  kubeconfig: z.string().min(1, { error: 'is empty: give the path of a kubeconfig' }).optional(),
  json: z.boolean().default(false),
});

/** `flotilla check talm`: what of a hub that TALM manages carries over. Reads alone; exit code 3 while something stops the move. */
export function checkCommand(): Command {
  const talm = new Command('talm')
    .description('Says which objects of a hub that TALM manages carry over, which mean something else here, and what to do first.')
    .option('--kubeconfig <file>', 'kubeconfig of the hub; default: KUBECONFIG')
    .option('--json', 'as JSON')
    .action(checkTalm);
  return new Command('check').description('Checks a hub before a move.').addCommand(talm);
}

async function checkTalm(given: unknown): Promise<void> {
  const options = readOptions(Options, given);
  const kubeconfigPath = options.kubeconfig === undefined ? readKubeconfig() : callersPath(options.kubeconfig);
  if (kubeconfigPath === undefined) throw new FlotillaError('FLOTILLA_CONFIG', '--kubeconfig is required, or KUBECONFIG');
  const client = createClient({ kubeconfigPath, userAgent: 'flotilla-cli' });
  try {
    const check = judgeTalmHub(await readTalmHub(client));
    process.stdout.write(`${options.json ? JSON.stringify(check) : render(check)}\n`);
    if (check.objects.some(({ verdict }) => STOPS.has(verdict))) process.exitCode = NO;
  } finally {
    await client.close();
  }
}

/** Verdicts with which a move loses or breaks something. */
const STOPS: ReadonlySet<Verdict> = new Set(['stopFirst', 'refused', 'missing']);

const WORDS: Readonly<Record<Verdict, string>> = {
  stopFirst: 'stop first',
  refused: 'refused',
  missing: 'missing',
  differs: 'differs',
  carriesOver: 'carries over',
};

/** Renders one row an object, and the next step of each below. */
export function render({ objects }: TalmCheck): string {
  if (objects.length === 0)
    return 'This hub has no ClusterGroupUpgrade, PreCachingConfig or ImageBasedGroupUpgrade: there is nothing to carry over.';
  const rows = table(
    ['OBJECT', 'VERDICT', 'WHY'],
    objects.map(({ object, verdict, why }) => [object, WORDS[verdict], why]),
  );
  const fixes = objects.flatMap(({ object, fix }) => (fix === undefined ? [] : [`${object}: ${fix}`]));
  return fixes.length === 0 ? rows : `${rows}\n\nNext steps:\n${fixes.map((fix) => `- ${fix}`).join('\n')}`;
}
