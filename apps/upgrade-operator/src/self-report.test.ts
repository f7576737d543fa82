import { UpgradeCondition, type UpgradeHistory } from '@flotilla/api/managed';
import { describe, expect, test } from 'vitest';
import { reportOf } from './self-report.ts';

const AT = { namespace: 'n', version: '1.2.3' };
const entry = (phase: UpgradeHistory['phase'], failing?: UpgradeCondition): UpgradeHistory => ({
  version: '4.20.2',
  phase,
  conditions: failing ? [{ type: failing, status: 'False', message: 'Mend it.' }] : [],
});

describe('what the operator says of itself', () => {
  test.each<{ name: string; newest?: UpgradeHistory; want: string }>([
    { name: 'without an upgrade', want: 'False AsExpected' },
    { name: 'in an upgrade', newest: entry('Upgrading'), want: 'False AsExpected' },
    { name: 'after one', newest: entry('Upgraded'), want: 'False AsExpected' },
    { name: 'with a step that is not done', newest: entry('Upgrading', UpgradeCondition.workersUpgraded), want: 'False AsExpected' },
    { name: 'with a ConfigMap it cannot use', newest: entry('Pending', UpgradeCondition.configured), want: 'True OperatorNotConfigured' },
    {
      name: 'with an UpgradeConfig it cannot carry out',
      newest: entry('New', UpgradeCondition.validated),
      want: 'True UpgradeConfigInvalid',
    },
    { name: 'after an upgrade that was given up', newest: entry('Failed'), want: 'True UpgradeFailed' },
  ])('$name', ({ newest, want }) => {
    const { Available, Degraded } = reportOf(newest, AT).conditions;
    expect(`${Degraded.status} ${Degraded.reason}`).toBe(want);
    expect(Available.status).toBe('True');
  });

  test('it belongs to its release, and to what it works with', () => {
    const { operands, relatedObjects } = reportOf(undefined, AT);
    expect(operands).toEqual([{ name: 'upgrade-operator', wanted: '1.2.3', running: ['1.2.3'] }]);
    expect(relatedObjects.map(({ resource }) => resource)).toEqual(['namespaces', 'upgradeconfigs', 'clusterversions']);
  });
});
