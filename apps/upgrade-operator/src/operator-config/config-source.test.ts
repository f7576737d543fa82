import { expect, test } from 'vitest';
import { nowAfter } from './config-source.ts';

const good = 'nodeDrain: {timeOut: 45}';

test('a good one takes the place of whatever was', () => {
  const first = nowAfter({}, good);
  expect(first).toMatchObject({ config: { nodeDrain: { timeOut: 45 } } });
  expect(nowAfter({ problem: 'x' }, 'nodeDrain: {timeOut: 46}')).toEqual({
    config: expect.objectContaining({ nodeDrain: expect.objectContaining({ timeOut: 46 }) }),
  });
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
