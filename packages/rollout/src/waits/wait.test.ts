import { textInStatus } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { readWait, type Wait, waitMessage, withSince } from './wait.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const whole: Wait = {
  cause: 'policy',
  says: 'policy ns/p no longer reaches spoke5: it is disabled',
  fix: 'set spec.disabled of Policy ns/p to false',
  since: NOW,
  until: NOW + 3_600_000,
  of: { object: 'Policy ns/p', field: 'spec.disabled', value: 'true: since: now' },
  behind: { namespace: 'ns', name: 'other' },
};

describe('a wait in the message of a status', () => {
  test.each<{ name: string; wait: Wait; says: string }>([
    {
      name: 'with all that can be said',
      wait: whole,
      says: 'waits (policy) since 2026-01-01T12:00:00Z until 2026-01-01T13:00:00Z at the latest behind ns/other: policy ns/p no longer reaches spoke5: it is disabled; seen: Policy ns/p, spec.disabled: true: since: now; to go on: set spec.disabled of Policy ns/p to false',
    },
    { name: 'with its cause alone', wait: { cause: 'placement', says: 'a decision' }, says: 'waits (placement): a decision' },
    {
      name: 'whose sentence has our words in it',
      wait: { cause: 'policy', says: 'a; to go on: b', fix: 'mend it' },
      says: 'waits (policy): a; to go on: b; to go on: mend it',
    },
  ])('is read as it was written: $name', ({ wait, says }) => {
    expect(waitMessage(wait)).toBe(says);
    expect(readWait(says)).toEqual(wait);
  });

  test.each(['waits for ClusterGroupUpgrade a/b to complete', 'waits (nothing-known): x', '', 'it waits (policy): x'])(
    'is not taken for one: %s',
    (message) => expect(readWait(message)).toBeUndefined(),
  );

  const long: Wait = {
    ...whole,
    says: `pull of registry.example/a failed: ${'the layer could not be fetched, '.repeat(30)}401 Unauthorized`,
    fix: `${'see the pull secret of the cluster, then '.repeat(6)}try again`,
    of: { object: 'Policy ns/p', field: 'status.details[0].history[0]', value: 'NonCompliant; '.repeat(40) },
  };

  test('that is too long for a status loses the middle of its sentence, and neither cause nor fix', () => {
    const message = waitMessage(long);
    expect(textInStatus(message, false)).toBe(message);
    expect(readWait(message)).toMatchObject({ cause: 'policy', since: NOW, fix: long.fix, says: expect.stringMatching(/^pull.*…/) });
  });

  test('that has room keeps its whole sentence, and loses of the value', () => {
    const says = 'the registry did not answer, '.repeat(8);
    const message = waitMessage({ ...long, says, fix: 'mend it' });
    expect(message.length).toBeLessThanOrEqual(512);
    expect(readWait(message)).toMatchObject({ says, of: { value: expect.stringMatching(/^NonCompliant.*…$/) } });
  });

  test('that is cut is as old as before', () =>
    expect(withSince({ ...long, since: undefined }, waitMessage(long), NOW + 60_000).since).toBe(NOW));
});
