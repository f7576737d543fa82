import { Annotation } from '@flotilla/api';
import { describe, expect } from 'vitest';
import { testIn } from '../world.ts';
import { TRANSPORTS, World } from './world.ts';

const spokes = ['bad', 'worse', 'good'];

describe.each(TRANSPORTS)('by %s', (transport) => {
  const test = testIn(async () => {
    const world = await World.start({ spokes, transport, inMemory: true });
    for (const name of ['bad', 'worse']) world.spokes.setFaults(name, { failJob: true });
    return world;
  });

  test('before the start those that failed pull again: one more job each, none on those that have their images', async ({ world }) => {
    await world.upgrade('u', spokes);
    await world.untilStates('u', { bad: 'UnrecoverableError', worse: 'UnrecoverableError', good: 'Succeeded' });
    world.spokes.setFaults('bad', {});
    world.spokes.setFaults('worse', {});

    await world.annotate('u', { [Annotation.retryAt]: '2026-01-01T00:00:00Z', [Annotation.retryClusters]: 'bad, good' });
    await world.untilStates('u', { bad: 'Succeeded', worse: 'UnrecoverableError', good: 'Succeeded' });
    const first = (await world.get('u'))?.status;
    expect(first?.lastHandledRetryAt).toBe('2026-01-01T00:00:00Z');
    expect(first?.precaching?.retries).toEqual({ bad: 1 });
    expect(await world.condition('u', 'PrecachingSuceeded')).toMatch(/^False PartiallyDone/);

    // Another time, another try; a hub that takes over in it goes on.
    await world.annotate('u', { [Annotation.retryAt]: '2026-01-01T01:00:00Z', [Annotation.retryClusters]: null });
    await world.hub?.stop();
    await world.startHub();
    await world.untilStates('u', { bad: 'Succeeded', worse: 'Succeeded', good: 'Succeeded' });
    expect((await world.get('u'))?.status?.precaching?.retries).toEqual({ bad: 1, worse: 1 });
    expect(await world.condition('u', 'PrecachingSuceeded')).toMatch(/^True PrecachingCompleted/);
    expect((await world.get('u'))?.status?.remediationPlan?.flat()).toEqual(spokes);
    expect(Object.fromEntries(spokes.map((name) => [name, world.spokes.jobsCreated(name).length]))).toEqual({ bad: 2, worse: 2, good: 1 });
  });
});
