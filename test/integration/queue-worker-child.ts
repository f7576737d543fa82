// A worker process: runs steps and batches asked for by the process that started it, and prints the key of each run it begins.
import { TerminalError, WaitingError } from '@flotilla/api';
import { openStore, startBatchWorker, startStepWorker } from '@flotilla/queues';
import { z } from 'zod';
import { batchQueues, log, milliseconds, stepQueue } from './queue-fixture.ts';

const Job = z.object({ redisUrl: z.string(), runMs: z.number() });

// Ends with the process that started it, however that one ends.
process.stdin.on('end', () => process.exit(3)).resume();

const { redisUrl, runMs } = Job.parse(JSON.parse(process.argv[2] ?? ''));
const store = await openStore({ redisUrl, log });
const { signal } = new AbortController();

async function run(cluster: string): Promise<{ pid: number }> {
  process.stdout.write(`${cluster}\n`);
  await milliseconds(runMs);
  if (cluster.startsWith('broken')) throw new Error('refused');
  if (cluster.startsWith('waits')) throw new WaitingError('FLOTILLA_TEST_WAIT', 'not yet', 30);
  if (cluster.startsWith('hopeless')) throw new TerminalError('FLOTILLA_TEST_BAD', 'bad input');
  return { pid: process.pid };
}

startStepWorker({ store, queue: stepQueue, concurrency: 5, process: ({ cluster }) => run(cluster), signal, log });
startBatchWorker({
  ...batchQueues,
  store,
  concurrency: 5,
  processChild: ({ cluster }) => run(cluster),
  processBatch: (payload) => run(`batch-${payload.batch}`),
  signal,
  log,
});
process.stdout.write('ready\n');
