import { UpgradeConfig, type UpgradeConfigSpec, type UpgradeHistory } from '@flotilla/api/managed';
import { describe, expect, test } from 'vitest';
import { buildSpec, buildVersion } from '../testing/upgrade-builders.ts';
import { beginningOf, heldMessage, isSameBeginning, isSent, isUnderWay, upgradeInForce } from './in-force.ts';

const begun: UpgradeHistory = { version: '4.14.12', phase: 'Upgrading', begunWith: beginningOf(buildSpec()) };
const other = { version: '4.15.3', channel: 'stable-4.15' };
const build = (spec: Partial<UpgradeConfigSpec>, ...history: UpgradeHistory[]) =>
  UpgradeConfig.schema.parse({ metadata: { name: 'u' }, spec: buildSpec(spec), status: { history } });

test.each([
  { name: 'nobody has seen it yet', spec: {}, history: [], version: undefined, held: false },
  { name: 'it waits', spec: {}, history: [{ ...begun, phase: 'Pending' as const, begunWith: undefined }], version: '4.14.12', held: false },
  { name: 'it is under way', spec: {}, history: [begun], version: '4.14.12', held: false },
  { name: 'another version is asked for meanwhile', spec: { desired: other }, history: [begun], version: '4.14.12', held: true },
  {
    name: 'another version is asked for and was seen waiting',
    spec: { desired: other },
    history: [{ version: '4.15.3', phase: 'Pending' as const }, begun],
    version: '4.14.12',
    held: true,
  },
  {
    name: 'an image is asked for meanwhile',
    spec: { desired: { version: '4.14.12', image: 'r/x' } },
    history: [begun],
    version: '4.14.12',
    held: true,
  },
  { name: 'another type is asked for meanwhile', spec: { type: 'ARO' as const }, history: [begun], version: '4.14.12', held: true },
  {
    name: 'its moment is written otherwise',
    spec: { upgradeAt: '2026-02-01T11:00:00+01:00' },
    history: [begun],
    version: '4.14.12',
    held: false,
  },
  { name: 'pods get more time', spec: { PDBForceDrainTimeout: 5 }, history: [begun], version: '4.14.12', held: false },
  {
    name: 'it has ended and another version is asked for',
    spec: { desired: other },
    history: [{ ...begun, phase: 'Upgraded' as const }],
    version: undefined,
    held: false,
  },
  {
    name: 'it has failed and another time is asked for',
    spec: { upgradeAt: '2026-02-02T10:00:00Z' },
    history: [{ ...begun, phase: 'Failed' as const }],
    version: undefined,
    held: false,
  },
  { name: 'it has failed', spec: {}, history: [{ ...begun, phase: 'Failed' as const }], version: '4.14.12', held: false },
  {
    name: 'it was begun by an operator that does not say with what',
    spec: { desired: other },
    history: [{ ...begun, begunWith: undefined }],
    version: undefined,
    held: false,
  },
])('the upgrade in force when $name', ({ spec, history, version, held }) => {
  const inForce = upgradeInForce(build(spec, ...history));
  expect(inForce.entry?.version).toBe(version);
  expect(inForce.held).toEqual(held ? beginningOf(buildSpec(spec)) : undefined);
  expect(inForce.upgradeConfig.spec).toEqual(held ? { ...buildSpec(spec), ...beginningOf(buildSpec()) } : buildSpec(spec));
});

test('fields that apply at once come from the spec, even while a change of the rest is held', () => {
  const { upgradeConfig } = upgradeInForce(build({ desired: other, PDBForceDrainTimeout: 5, capacityReservation: false }, begun));
  expect(upgradeConfig.spec).toMatchObject({ PDBForceDrainTimeout: 5, capacityReservation: false, desired: { version: '4.14.12' } });
});

test.each([
  { phase: 'Pending' as const, want: false },
  { phase: 'Upgrading' as const, want: true },
  { phase: 'Upgraded' as const, want: false },
  { phase: 'Failed' as const, want: false },
])('an upgrade in phase $phase is under way: $want', ({ phase, want }) => expect(isUnderWay(build({}, { ...begun, phase }))).toBe(want));

const commenced = (status: 'True' | 'False') => ({ ...begun, conditions: [{ type: 'UpgradeCommenced', status }] });
const askedFor = (version: string) => buildVersion({ desiredUpdate: { version } });
test.each([
  { name: 'it asks for the version', cluster: askedFor('4.14.12'), entry: begun, want: true },
  { name: 'it asks for nothing', cluster: buildVersion(), entry: begun, want: false },
  { name: 'its offer is waited for', cluster: buildVersion(), entry: commenced('False'), want: false },
  { name: 'it asks for nothing any more', cluster: buildVersion(), entry: commenced('True'), want: true },
  { name: 'it asks for another version by now', cluster: askedFor('4.14.13'), entry: commenced('True'), want: true },
  { name: 'it says nothing at the moment', cluster: undefined, entry: commenced('True'), want: true },
  { name: 'it says nothing yet', cluster: undefined, entry: begun, want: false },
  {
    name: 'an earlier attempt had sent it',
    cluster: buildVersion(),
    entry: { ...commenced('True'), phase: 'Upgraded' as const },
    want: false,
  },
])('the cluster was sent while $name: $want', ({ cluster, entry, want }) => {
  const isLater = entry.phase === 'Upgraded' ? { upgradeAt: '2026-03-01T10:00:00Z' } : {};
  expect(isSent(upgradeInForce(build(isLater, entry)), cluster)).toBe(want);
});

describe('message about a held upgrade', () => {
  const current = build({}, begun);
  test.each([
    {
      name: 'with its version',
      wanted: { ...beginningOf(buildSpec()), desired: other },
      want: 'OCM asks for 4.15.3 (stable-4.15) from 2026-02-01T10:00:00Z on: held until the upgrade to 4.14.12 (stable-4.14) has ended',
    },
    {
      name: 'with its image',
      wanted: { ...beginningOf(buildSpec()), desired: { image: 'r/x' } },
      want: 'OCM asks for r/x from 2026-02-01T10:00:00Z on: held until the upgrade to 4.14.12 (stable-4.14) has ended',
    },
    {
      name: 'when nothing is wanted any more',
      wanted: undefined,
      want: 'OCM asks for no upgrade any more: held until the upgrade to 4.14.12 (stable-4.14) has ended',
    },
  ])('$name', ({ wanted, want }) => expect(heldMessage('OCM', wanted, current)).toBe(want));
});

test('moments that cannot be read are compared as they are written', () => {
  const soon = { ...beginningOf(buildSpec()), upgradeAt: 'soon' };
  expect(isSameBeginning(soon, { ...soon })).toBe(true);
  expect(isSameBeginning(soon, { ...soon, upgradeAt: 'later' })).toBe(false);
});
