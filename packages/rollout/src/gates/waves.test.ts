import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { readWaves, refuseStrictWaves } from './waves.ts';

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
