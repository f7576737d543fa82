import { expect, test } from 'vitest';
import { nowAfter } from './read-config.ts';

const good = 'nodeDrain: {timeOut: 45}';

test('a good one takes the place of whatever was', () => {
  const first = nowAfter({}, good);
  expect(first).toMatchObject({ config: { nodeDrain: { timeOut: 45 } } });
  expect(nowAfter({ problem: 'x' }, 'nodeDrain: {timeOut: 46}')).toEqual({
    config: expect.objectContaining({ nodeDrain: expect.objectContaining({ timeOut: 46 }) }),
  });
});

test('keys that are not known are told, and change nothing', () => {
  const { config, remark, problem } = nowAfter(
    {},
    `${good}\nscale: {timeout: 5}\nupgradeWindows: {timeOut: 1}\nconfigManager: {sauce: OCM}`,
  );
  expect({ config, problem }).toEqual({ config: nowAfter({}, good).config, problem: undefined });
  expect(remark).toBe(
    'keys that are not known count for nothing: scale.timeout (known here: timeOut, extraMachinePools); ' +
      'upgradeWindows (known here: upgradeType, configManager, validation, environment, maintenance, scale, upgradeWindow, nodeDrain, healthCheck, ' +
      'extDependencyAvailabilityChecks, cacheProof, featureGate); configManager.sauce (known here: source, ocmBaseUrl, localConfigName, watchInterval)',
  );
  expect(nowAfter({}, good).remark).toBeUndefined();
  const many = Array.from({ length: 20 }, (_, index) => `key-${index}${'x'.repeat(1_000)}: 1`).join('\n');
  expect(nowAfter({}, `${good}\n${many}`).remark?.length).toBeLessThan(2_000);
});

test.each([
  ['a wrong value', 'nodeDrain: {timeOut: 0}', 'nodeDrain.timeOut is 0'],
  ['no YAML', '{', 'incorrect yaml formatting'],
  ['no key', undefined, 'has no key config.yaml'],
])('%s leaves the last good one', (_name, text, why) => {
  const before = nowAfter({}, good);
  expect(nowAfter(before, text)).toEqual({ config: before.config, problem: expect.stringContaining(why) });
  expect(nowAfter({}, text)).toEqual({ problem: expect.stringContaining(why) });
});
