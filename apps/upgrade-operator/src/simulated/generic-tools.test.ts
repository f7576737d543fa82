import { UpgradeConfig } from '@flotilla/api/managed';
import { kstatus } from '@flotilla/api/testing';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CASE_REF } from '../../testing/operator-case.ts';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
let stopped: AbortController;
/** Verdicts in the order in which a tool that watches comes to them, each with the generation that it is about. */
let verdicts: string[];
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
  stopped = new AbortController();
  verdicts = [];
  void watchVerdicts(stopped.signal);
});
afterEach(async () => {
  stopped.abort();
  await operator.stop();
});

async function watchVerdicts(signal: AbortSignal): Promise<void> {
  for await (const event of operator.client.watch(UpgradeConfig, { namespace: CASE_REF.namespace, resourceVersion: '0', signal })) {
    if ((event.type !== 'ADDED' && event.type !== 'MODIFIED') || event.object.status === undefined) continue;
    const verdict = `${event.object.metadata.generation} ${kstatus(event.object)}`;
    if (verdicts.at(-1) !== verdict) verdicts.push(verdict);
  }
}
const edit = (spec: object) => operator.client.patch(UpgradeConfig, CASE_REF, { spec }, { type: 'merge' });
const ready = async () => {
  const { metadata, status } = (await operator.client.get(UpgradeConfig, CASE_REF)) ?? {};
  const found = status?.conditions?.find(({ type }) => type === 'Ready');
  return [found?.status, found?.observedGeneration === metadata?.generation];
};

test('one that is edited after its failure is neither failed nor done until the edit took effect', async () => {
  operator.away(true);
  await operator.upgrade('4.14.10', '01:00');
  await operator.until('Mon 03:10');
  expect((await operator.entry())?.phase).toBe('Failed');
  operator.away(false);
  await edit({ upgradeAt: '2026-03-02T04:00:00Z' });
  await operator.until('Mon 06:30');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(verdicts).toEqual(['1 InProgress', '1 Failed', '2 InProgress', '2 Current']);
  expect(await ready()).toEqual(['True', true]);
});

test('one that is edited while no operator runs stays in progress until one has judged it', async () => {
  await operator.upgrade('4.14.17', '01:00');
  await operator.until('Mon 01:10');
  expect(verdicts.at(-1)).toBe('1 Failed');
  await operator.restart(() => edit({ desired: { version: '4.14.10' } }));
  await operator.until('Mon 03:30');
  expect(verdicts.slice(verdicts.indexOf('1 Failed'))).toEqual(['1 Failed', '2 InProgress', '2 Current']);
});

test('one whose edit waits for the end of the running upgrade is in progress until the edit is carried out', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.until('Mon 01:30');
  await edit({ desired: { version: '4.14.11' } });
  await operator.until('Mon 05:30');
  expect((await operator.entry())?.version).toBe('4.14.11');
  expect(verdicts.filter((verdict) => !verdict.endsWith('InProgress'))).toEqual(['2 Current']);
});
