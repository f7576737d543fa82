import { expect, test } from 'vitest';
import type { NewJob } from './job-store.ts';
import { keyedProducer, toChild, toWake } from './keyed-jobs.ts';
import { queues } from './table.ts';

const queue = queues.rolloutBatch;
const log = { info: () => {}, warn: () => {}, debug: () => {} };
const batch = (name: string) => ({ upgrade: { namespace: 'default', name, uid: 'uid-1' }, batch: 1 });

test('a wake is added although a child of its key comes after it in the same turn', async () => {
  const added: NewJob[][] = [];
  const store = {
    producer: () => ({
      add: async (jobs: readonly NewJob[]) => void added.push([...jobs]),
      promote: async () => {},
      remove: async () => {},
      close: async () => {},
    }),
  };
  const producer = keyedProducer(store, queue, log);
  const [wake, newer, child] = [toWake(queue, batch('old')), toWake(queue, batch('new')), toChild(queue, batch('new'))];
  await Promise.all([wake, newer, child].map((job) => producer.add(job)));
  expect(added).toEqual([[newer, child]]);
});
