/** Runs the chaos tests of updates with more moments than the test command does. See `--help`. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { runProgram } from '../../tools/src/test-stages.ts';

const USAGE = `chaos:payload -- [--kills 50] [--cuts 20] [--seed 7]
Kills the version operator at so many moments of updates, then cuts the API server off at so many: same end state, nothing applied before what it
waits for, nothing written twice. Takes about 5 s for each moment.`;

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { kills: text, cuts: text, seed: text, help: { type: 'boolean' } } });
const Arguments = z.object({
  kills: z.coerce.number().int().min(1).max(1000).default(50),
  cuts: z.coerce.number().int().min(1).max(1000).default(20),
  seed: z.coerce.number().int().nonnegative().default(7),
});
const args = Arguments.safeParse(values);
if (values.help) process.stdout.write(`${USAGE}\n`);
else if (args.success) {
  const { kills, cuts, seed } = args.data;
  process.exitCode = await runProgram(
    'node_modules/.bin/vitest',
    ['run', '--project', 'integration', 'test/integration/version-operator/payload-chaos.test.ts'],
    {
      env: {
        FLOTILLA_PAYLOAD_CHAOS_KILLS: String(kills),
        FLOTILLA_PAYLOAD_CHAOS_CUTS: String(cuts),
        FLOTILLA_PAYLOAD_CHAOS_SEED: String(seed),
      },
      timeoutMs: 600_000 + (kills + cuts) * 60_000,
    },
  );
} else {
  process.stderr.write(`${z.prettifyError(args.error)}\n${USAGE}\n`);
  process.exitCode = 2;
}
