import { expect, test } from 'vitest';
import { buildVersion } from '../testing/upgrade-builders.ts';
import { upgradeObstacle } from './upgradeable.ts';

const said = (status: string) => [{ type: 'Upgradeable', status, reason: 'AdminAck', message: 'ack first' }];
const AT = '2026-02-01T10:00:00Z';
const REFUSED = (version: string) =>
  `cluster upgrade to version ${version} on Sun Feb  1 10:00:00 UTC 2026 has been cancelled: AdminAck: ack first`;

test.each([
  { name: 'another minor version', version: '4.15.3', conditions: said('False'), want: REFUSED('4.15.3') },
  { name: 'a minor version further on', version: '4.16.0', conditions: said('False'), want: REFUSED('4.16.0') },
  { name: 'a candidate of another minor version', version: '4.15.0-rc.1', conditions: said('False'), want: REFUSED('4.15.0-rc.1') },
  { name: 'the same minor version', version: '4.14.12', conditions: said('False'), want: undefined },
  { name: 'an older minor version', version: '4.13.50', conditions: said('False'), want: undefined },
  { name: 'another minor version when operators let it go', version: '4.15.3', conditions: said('True'), want: undefined },
  { name: 'another minor version when they do not say', version: '4.15.3', conditions: said('Unknown'), want: undefined },
  { name: 'another minor version when nothing is said', version: '4.15.3', conditions: [], want: undefined },
])('$name: $want', ({ version, conditions, want }) => {
  expect(upgradeObstacle(buildVersion({}, { conditions }), version, AT)).toBe(want);
});

test('the moment is that of UTC, whatever zone it is written in', () => {
  expect(upgradeObstacle(buildVersion({}, { conditions: said('False') }), '4.15.3', '2026-02-01T12:00:00+02:00')).toBe(REFUSED('4.15.3'));
});
