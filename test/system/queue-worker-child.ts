// A worker process: runs steps asked for by the process that started it, and prints the cluster of each run it begins and ends.
import { WaitingError } from '@flotilla/api';
import { z } from 'zod';
import { milliseconds, open, startSteps } from './queue-fixture.ts';

const Job = z.object({ redisUrl: z.string(), runMs: z.number() });

// Ends with the process that started it, however that one ends.
process.stdin.on('end', () => process.exit(3)).resume();

const { redisUrl, runMs } = Job.parse(JSON.parse(process.argv[2] ?? ''));
const tries = new Map<string, number>();

startSteps({
  store: await open({ redisUrl }),
  concurrency: 5,
  handle: async (cluster) => {
    const attempt = (tries.get(cluster) ?? 0) + 1;
    tries.set(cluster, attempt);
    process.stdout.write(`begun ${cluster}\n`);
    await milliseconds(runMs);
    if (cluster.startsWith('broken') && attempt < 3) throw new Error('refused');
    if (cluster.startsWith('waits') && attempt < 3) throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 30);
    process.stdout.write(`ended ${cluster}\n`);
  },
});
process.stdout.write('ready\n');
