import { describe, expect, test } from 'vitest';
import { actionLabels, isAttributed, isOurs, upgradeLabels } from './labels.ts';

const upgrade = { namespace: 'ns', name: 'upgrade', uid: 'uid-1' };
const objectWith = (labels?: Record<string, string>) => ({ metadata: { name: 'x', labels } });

describe('ownership', () => {
  const rows = [
    { name: 'what this upgrade created', labels: upgradeLabels(upgrade), ours: true, attributed: true },
    {
      name: 'what an earlier upgrade of the name left',
      labels: upgradeLabels({ ...upgrade, uid: 'uid-0' }),
      ours: false,
      attributed: true,
    },
    {
      name: 'what the reference created',
      labels: {
        'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'upgrade',
        'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': 'ns',
      },
      ours: false,
      attributed: true,
    },
    {
      name: 'what an upgrade in another namespace created',
      labels: upgradeLabels({ ...upgrade, namespace: 'other', uid: 'uid-2' }),
      ours: false,
      attributed: false,
    },
    { name: 'an action of this upgrade', labels: actionLabels(upgrade), ours: true, attributed: false },
    { name: 'what nobody labelled', labels: undefined, ours: false, attributed: false },
  ];
  test.each(rows)('$name', ({ labels, ours, attributed }) => {
    expect(isOurs(objectWith(labels), upgrade)).toBe(ours);
    expect(isAttributed(objectWith(labels), upgrade)).toBe(attributed);
  });

  test('labels have the names and formats of the reference', () => {
    expect(upgradeLabels(upgrade)).toMatchObject({
      'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'upgrade',
      'openshift-cluster-group-upgrades/clusterGroupUpgradeNamespace': 'ns',
    });
    expect(actionLabels(upgrade)).toMatchObject({ 'openshift-cluster-group-upgrades/clusterGroupUpgrade': 'ns-upgrade' });
  });
});
