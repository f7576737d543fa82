import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from '@flotilla/api';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { z } from 'zod';
import { ROOT, runProgram } from './test-stages.ts';

/** Names of all targets, in the order in which they are written. */
const targets = globSync('{packages,apps}/*/src/**/*.fuzz.test.ts', { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bdefineTarget\((?:'([^']+)'|"([^"]+)")/g)].map(
    ([, plain, quoted]) => plain ?? quoted ?? '',
  ),
);

const Options = z.object({
  seconds: z.coerce.number().positive().max(86_400).default(30),
  seed: z.coerce
    .number()
    .int()
    .default(() => Date.now() % 1_000_000),
  case: z.coerce.number().int().min(0).optional(),
  target: z.enum(targets).optional(),
});

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

cleanupOnExit();
try {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { seconds: text, seed: text, case: text, target: text } });
  const options = Options.parse(values);
  const each = options.target === undefined ? options.seconds / targets.length : options.seconds;
  process.stdout.write(
    [
      `fuzz: seed ${options.seed}, ${options.target === undefined ? `${targets.length} targets` : `target ${options.target}`}, ${each.toFixed(1)} s each`,
      'pause: CPU time of the thread between two turns of its event loop, so that a busy machine does not count; a case beyond the limit runs twice more, and its least value counts',
      'growth: resident memory beyond what it was after the first 20 cases; beyond the limit garbage is collected, and what stays counts, or what the case alone takes when it runs again',
      'limits: 200 ms where servers run the code; 3,000 ms for YAML of catalogues, which a program reads that runs once; 256 MiB; an error of ours with a code for every refusal',
      '',
    ].join('\n'),
  );
  const one = options.target === undefined ? [] : ['-t', `^${escaped(options.target)}$`];
  process.exitCode = await runProgram(
    'node_modules/.bin/vitest',
    ['run', '--project', 'fuzz', '--no-file-parallelism', '--silent=false', ...one],
    {
      timeoutMs: (options.seconds + 600) * 1000,
      env: {
        FLOTILLA_FUZZ_SEED: String(options.seed),
        FLOTILLA_FUZZ_SECONDS: String(each),
        ...(options.case !== undefined && { FLOTILLA_FUZZ_CASE: String(options.case) }),
      },
    },
  );
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 1;
}
