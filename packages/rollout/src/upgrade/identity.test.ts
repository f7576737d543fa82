import { describe, expect, test } from 'vitest';
import { actionLabels, isAttributed, isOurs, labelValue, upgradeLabels, workLabels } from './identity.ts';

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

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

describe('labelValue', () => {
  test('leaves a text of 63 characters as it is', () => expect(labelValue('a'.repeat(63))).toBe('a'.repeat(63)));

  test('makes a longer text a value that an API server takes', () => {
    expect(labelValue('a'.repeat(64))).toMatch(LABEL_VALUE);
    expect(labelValue(`${'a'.repeat(53)}.${'b'.repeat(60)}`)).toMatch(LABEL_VALUE);
  });

  test('tells long texts with the same beginning apart', () => {
    expect(labelValue(`${'a'.repeat(70)}1`)).not.toBe(labelValue(`${'a'.repeat(70)}2`));
  });
});

test('the labels of an upgrade with the longest name are such that an API server takes them', () => {
  const labels = workLabels({ namespace: 'n'.repeat(63), name: 'a'.repeat(253), uid: 'uid-1' }, 'precache');
  expect(labels).toMatchObject({ 'flotilla.io/upgrade-uid': 'uid-1', 'flotilla.io/work': 'precache' });
  for (const value of Object.values(labels)) expect(value).toMatch(LABEL_VALUE);
});
