import { describe, expect, test } from 'vitest';
import { DEFAULT_NODE_RULES, readNodeRules } from './pre-caching-config.ts';

describe('the nodes of a PreCachingConfig', () => {
  test('are all that take pods and the control plane, where nothing is said', () => {
    expect(readNodeRules()).toEqual({ rules: DEFAULT_NODE_RULES, isGiven: false });
    expect(readNodeRules({ 'flotilla.io/bandwidth': '1000000' })).toEqual({ rules: DEFAULT_NODE_RULES, isGiven: false });
  });

  test('are read from all four annotations', () => {
    const { rules, isGiven, problem } = readNodeRules({
      'flotilla.io/node-selector': 'node-role.kubernetes.io/worker=, zone=a',
      'flotilla.io/node-tolerations': 'gpu=yes:NoSchedule, example.com/edge:NoExecute, other',
      'flotilla.io/node-patience': '120',
      'flotilla.io/absent-nodes': 'ignore',
    });
    expect([isGiven, problem]).toEqual([true, undefined]);
    expect(rules).toEqual({
      selector: { 'node-role.kubernetes.io/worker': '', zone: 'a' },
      tolerations: [
        { key: 'gpu', operator: 'Equal', value: 'yes', effect: 'NoSchedule' },
        { key: 'example.com/edge', operator: 'Exists', effect: 'NoExecute' },
        { key: 'other', operator: 'Exists' },
      ],
      patienceSeconds: 120,
      absent: 'ignore',
    });
  });

  test('no tolerations are none', () => {
    expect(readNodeRules({ 'flotilla.io/node-tolerations': '' }).rules.tolerations).toEqual([]);
  });

  test.each([
    { annotation: 'flotilla.io/node-selector', value: 'zone', fix: 'key=value' },
    { annotation: 'flotilla.io/node-selector', value: 'zone=a b', fix: 'key=value' },
    { annotation: 'flotilla.io/node-tolerations', value: 'gpu:Never', fix: 'key:Effect' },
    {
      annotation: 'flotilla.io/node-tolerations',
      value: Array.from({ length: 21 }, (_, index) => `k${index}`).join(','),
      fix: 'at most 20',
    },
    { annotation: 'flotilla.io/node-patience', value: '5', fix: 'from 10 to 86400' },
    { annotation: 'flotilla.io/node-patience', value: '10m', fix: 'whole number' },
    { annotation: 'flotilla.io/absent-nodes', value: 'Fail', fix: 'fail or ignore' },
  ])('$annotation $value is refused with the fix', ({ annotation, value, fix }) => {
    const { problem } = readNodeRules({ [annotation]: value });
    expect(problem).toContain(`${annotation} is "${value.slice(0, 20)}`);
    expect(problem).toContain(fix);
  });
});
