/** Runs the chaos tests. See `--help`. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { runProgram } from '../../../tools/src/test-stages.ts';

const USAGE = `chaos -- [--moments 30] [--spokes 100] [--seed 20261121] [--transport work|actions]
Half of the moments in rollouts of policies, half in rollouts of ManifestWorks; then as many in pre-caching. Takes a minute for each on a busy machine.
--transport: pre-caching alone, by this transport.`;

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { moments: text, spokes: text, seed: text, transport: text, help: { type: 'boolean' } } });
const Arguments = z.object({
  moments: z.coerce.number().int().min(2).max(1000).default(30),
  spokes: z.coerce.number().int().min(10).max(1000).default(100),
  seed: z.coerce.number().int().nonnegative().default(20_261_121),
  transport: z.enum(['work', 'actions']).optional(),
});
const args = Arguments.safeParse(values);
if (values.help) process.stdout.write(`${USAGE}\n`);
else if (args.success) {
  const { moments, spokes, seed, transport } = args.data;
  const rollouts = transport === undefined ? ['test/bench/chaos/rollout.test.ts'] : [];
  process.exitCode = await runProgram(
    'node_modules/.bin/vitest',
    ['run', '--project', 'chaos', ...rollouts, 'test/bench/chaos/precache.test.ts'],
    {
      env: {
        FLOTILLA_CHAOS_MOMENTS: String(moments),
        FLOTILLA_CHAOS_SPOKES: String(spokes),
        FLOTILLA_CHAOS_SEED: String(seed),
        ...(transport && { FLOTILLA_CHAOS_TRANSPORT: transport }),
      },
      timeoutMs: 600_000 + moments * 80_000,
    },
  );
} else {
  process.stderr.write(`${z.prettifyError(args.error)}\n${USAGE}\n`);
  process.exitCode = 2;
}
