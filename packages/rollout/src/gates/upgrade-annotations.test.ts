import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import {
  findMembershipProblem,
  isOpenToMembers,
  readPins,
  readProofWithin,
  readWaves,
  refuseStrictWaves,
  strongerPins,
} from './upgrade-annotations.ts';

describe('waves', () => {
  const MINUTE = 60_000;

  describe('the annotations', () => {
    const read = (annotations: Record<string, string>, plan = [['a'], ['b', 'c']], timeout = 60) =>
      readWaves({
        metadata: { name: 'u', namespace: 'ran', annotations },
        spec: ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 2, timeout } }),
        status: { remediationPlan: plan, status: {} },
      });
    const ready = { [Annotation.waves]: 'ready' };

    test('absent, the batches are those of the list', () => {
      expect(read({})).toEqual({});
    });

    test('a batch has one cluster at least, and is filled for its share of the time-out, an hour at most', () => {
      expect(read(ready)).toEqual({ waves: { least: 1, patienceMs: 30 * MINUTE } });
      expect(read(ready, [['a']], 240)).toEqual({ waves: { least: 1, patienceMs: 60 * MINUTE } });
      expect(read({ ...ready, [Annotation.waveMin]: '5', [Annotation.wavePatience]: '1m30s' })).toEqual({
        waves: { least: 5, patienceMs: 90_000 },
      });
    });

    test.each([
      [{ [Annotation.waves]: 'fast' }, 'flotilla.io/waves is "fast", which is not known'],
      [{ [Annotation.waves]: '' }, 'flotilla.io/waves is "", which is not known'],
      [{ ...ready, [Annotation.waveMin]: '0' }, 'flotilla.io/wave-min is "0", no whole number from 1'],
      [{ ...ready, [Annotation.waveMin]: '1.5' }, 'flotilla.io/wave-min is "1.5"'],
      [{ ...ready, [Annotation.waveMin]: '' }, 'flotilla.io/wave-min is ""'],
      [{ ...ready, [Annotation.wavePatience]: '0s' }, 'flotilla.io/wave-patience is "0s", no duration from 1s to 168h'],
      [{ ...ready, [Annotation.wavePatience]: 'soon' }, 'flotilla.io/wave-patience is "soon"'],
      [{ ...ready, [Annotation.wavePatience]: '' }, 'flotilla.io/wave-patience is ""'],
      [{ [Annotation.waveMin]: '3' }, 'flotilla.io/wave-min is "3", and flotilla.io/waves is missing'],
    ])('%o are refused with key, value and fix', (annotations, says) => {
      expect(read(annotations).problem).toContain(says);
      expect(read(annotations).problem).toContain('write "ready" for flotilla.io/waves');
    });

    test('a hub that decides as the reference does refuses any of them', () => {
      expect(refuseStrictWaves({ metadata: { name: 'u', annotations: { [Annotation.hold]: '' } } })).toBeUndefined();
      expect(refuseStrictWaves({ metadata: { name: 'u', annotations: { [Annotation.waveMin]: '1' } } })).toContain(
        'no meaning with --talm-strict',
      );
    });
  });
});

describe('the age of proofs', () => {
  const read = (value: string | undefined, preCaching = true) =>
    readProofWithin({
      metadata: { annotations: value === undefined ? {} : { 'flotilla.io/proof-within': value } },
      spec: { preCaching } as never,
    });

  test.each([
    ['2h', 7_200_000],
    ['90m', 5_400_000],
    [' 1h30m ', 5_400_000],
    ['5m', 300_000],
    ['168h', 604_800_000],
  ])('%s is a time', (text, withinMs) => {
    expect(read(text)).toEqual({ withinMs });
  });

  test.each(['', '4m', '169h', '2', '2 h', 'soon', '-1h', '1.5h'])('%j is none, and is named with the fix', (text) => {
    expect(read(text).problem?.message).toMatch(/^Annotation flotilla.io\/proof-within is ".*", no duration; write a time from 5m to 168h/);
  });

  test('an upgrade that pulls nothing has nothing to prove', () => {
    expect(read('2h', false).problem?.message).toContain('pre-caches nothing');
    expect(read(undefined, false)).toEqual({});
  });

  test('a long text is cut', () => {
    expect(read('x'.repeat(5_000)).problem?.message.length).toBeLessThan(500);
  });

  test('where the server drops proofs, the CRD is named with the fix', () => {
    const upgrade = { metadata: { annotations: { 'flotilla.io/proof-within': '2h' } }, spec: { preCaching: true } as never };
    const { problem, withinMs } = readProofWithin(upgrade, false);
    expect(withinMs).toBeUndefined();
    expect(problem?.reason).toBe('ProofsDropped');
    expect(problem?.message).toMatch(
      /CustomResourceDefinition clustergroupupgrades\.ran\.openshift\.io of this hub drops; install the CRDs/,
    );
  });
});

describe('pins', () => {
  const read = (value: string | undefined, preCaching = true) =>
    readPins({
      metadata: { annotations: value === undefined ? {} : { 'flotilla.io/pins': value } },
      spec: { preCaching } as Parameters<typeof readPins>[0]['spec'],
    });

  test('nothing is pinned unless it is asked for', () => {
    expect(read(undefined)).toEqual({});
    expect(read('runtime')).toEqual({ pins: 'runtime' });
    expect(read('pinned-image-set')).toEqual({ pins: 'pinned-image-set' });
  });

  test.each(['true', '', 'Runtime', 'runtime,pinned-image-set', 'x'.repeat(1_000)])('%j is refused by name, with the fix', (value) => {
    const { pins, problem = '' } = read(value);
    expect(pins).toBeUndefined();
    expect(problem).toMatch(/^Annotation flotilla\.io\/pins is ".*", which is not known; write "runtime" or "pinned-image-set"/);
    expect(problem.length).toBeLessThan(600);
  });

  test('an upgrade that pulls nothing can pin nothing', () => {
    expect(read('runtime', false).problem).toMatch(/^Annotation flotilla\.io\/pins stands on an upgrade that pre-caches nothing; write/);
  });

  test('sets that were made once are removed at the end, whatever is asked for meanwhile', () => {
    expect(strongerPins('pinned-image-set', 'runtime')).toBe('pinned-image-set');
    expect(strongerPins('runtime', 'pinned-image-set')).toBe('pinned-image-set');
    expect([strongerPins('runtime', undefined), strongerPins(undefined, undefined)]).toEqual(['runtime', undefined]);
  });
});

describe('membership', () => {
  test.each([
    { value: undefined, isOpen: false, problem: undefined },
    { value: 'frozen', isOpen: false, problem: undefined },
    { value: 'add', isOpen: true, problem: undefined },
    {
      value: 'Add',
      isOpen: false,
      problem: 'Annotation flotilla.io/membership is "Add", which is not known; write "frozen" or "add", or remove the annotation',
    },
    { value: 'add', backup: true, isOpen: false, problem: expect.stringContaining('spec.backup is true') },
  ])('membership $value, with backup: $backup', ({ value, backup = false, isOpen, problem }) => {
    const annotations = value === undefined ? {} : { 'flotilla.io/membership': value };
    const upgrade = ClusterGroupUpgrade.schema.parse({
      metadata: { name: 'u', annotations },
      spec: { backup, remediationStrategy: { maxConcurrency: 1 } },
    });
    expect(isOpenToMembers(upgrade)).toBe(isOpen);
    expect(findMembershipProblem(upgrade)).toEqual(problem);
  });
});
