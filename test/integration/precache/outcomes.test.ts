import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { TRANSPORTS, World } from './world.ts';

const spokes = ['failing', 'late', 'good', 'fine', 'canary', 'second', 'doomed', 'lost'];

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(async () => {
    const world = await World.start({ spokes, transport });
    for (const name of ['failing', 'canary', 'doomed']) world.spokes.setFaults(name, { failJob: true });
    for (const name of ['late', 'lost']) world.spokes.setFaults(name, { deadlineJobSeconds: 2 });
    return world;
  });

  test.concurrent('partial completion: who failed leaves the plan, the rest goes on', async ({ world }) => {
    await world.upgrade('partial', ['failing', 'late', 'good', 'fine'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
    await world.untilCondition('partial', 'PrecachingSuceeded', 'False PartiallyDone: Precaching failed for 2 clusters');
    await world.untilCondition('partial', 'Progressing', 'False NotEnabled: Not enabled');
    const status = (await world.get('partial'))?.status;
    expect(status?.precaching?.status).toEqual({
      failing: 'UnrecoverableError',
      late: 'PrecacheTimeout',
      good: 'Succeeded',
      fine: 'Succeeded',
    });
    expect(status?.remediationPlan).toEqual([['good'], ['fine']]);
    expect(status?.clusters).toEqual([
      { name: 'failing', state: 'failed' },
      { name: 'late', state: 'failed' },
    ]);
    expect(status?.conditions?.map(({ type }) => type)).toEqual([
      'Ready',
      'ClustersSelected',
      'Validated',
      'PrecacheSpecValid',
      'PrecachingSuceeded',
      'Progressing',
    ]);
    // Who succeeded is cleaned; who failed keeps the job for whoever asks why.
    await world.untilClean(['failing', 'late', 'good', 'fine']);
    await eventually(() => !world.namespaceOn('good').exists() && !world.namespaceOn('fine').exists());
    expect(world.readOn('failing', 'Job', 'pre-cache')).toBeDefined();
  });

  test.concurrent('a canary that fails ends the upgrade', async ({ world }) => {
    await world.upgrade('canaries', ['second', 'canary'], {
      remediationStrategy: { maxConcurrency: 1, timeout: 240, canaries: ['canary'] },
    });
    await world.untilCondition('canaries', 'Succeeded', 'False Failed: Precaching failed on canary clusters');
    expect((await world.get('canaries'))?.status?.clusters).toEqual([{ name: 'canary', state: 'failed' }]);
    await eventually(async () => (await world.get('canaries'))?.status?.status.completedAt !== undefined);
  });

  test.concurrent('all failed: the upgrade ends, and everything is cleaned', async ({ world }) => {
    await world.upgrade('hopeless', ['doomed', 'lost']);
    const ended = 'No clusters available for remediation (Precaching failed)';
    await world.untilCondition('hopeless', 'Succeeded', `False Failed: ${ended}`);
    expect(await world.condition('hopeless', 'PrecachingSuceeded')).toBe('False Failed: Precaching failed for all clusters');
    expect(await world.condition('hopeless', 'Progressing')).toBe(`False Completed: ${ended}`);
    await eventually(async () => (await world.get('hopeless'))?.status?.status.completedAt !== undefined);
    const status = (await world.get('hopeless'))?.status;
    expect(status?.conditions?.at(-1)?.type).toBe('Succeeded');
    expect(status?.remediationPlan).toBeUndefined();
    await world.untilClean(['doomed', 'lost']);
    for (const name of ['doomed', 'lost']) await eventually(() => !world.namespaceOn(name).exists(), `${name} to be clean`);
  });

  test('nobody ran more than one job', ({ world }) => {
    for (const name of spokes) expect(world.spokes.jobsCreated(name), name).toHaveLength(1);
  });
});
