import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { lintStructural } from '../../testing/structural-lint.ts';
import { managedCrds } from './crds.ts';
import { UpgradeConfig } from './upgrade-config.ts';

const Version = z.looseObject({
  schema: z.object({ openAPIV3Schema: z.looseObject({}) }),
  additionalPrinterColumns: z.array(z.looseObject({ name: z.string(), jsonPath: z.string() })),
});
const [crd] = managedCrds();
const spec = z.looseObject({ names: z.looseObject({}), scope: z.string(), versions: z.tuple([Version]) }).parse(crd?.spec);
const [version] = spec.versions;

describe('the CRD of UpgradeConfig', () => {
  it('is structural', () => expect(lintStructural(version.schema.openAPIV3Schema)).toEqual([]));

  it('has the names that others know', () => {
    expect(crd?.metadata.name).toBe('upgradeconfigs.upgrade.managed.openshift.io');
    expect(spec.scope).toBe('Namespaced');
    expect(spec.names).toMatchObject({
      plural: 'upgradeconfigs',
      singular: 'upgradeconfig',
      listKind: 'UpgradeConfigList',
      shortNames: ['upgrade'],
    });
  });

  it('has the columns that show the newest upgrade and its newest step', () => {
    expect(version.additionalPrinterColumns.map(({ name, jsonPath }) => `${name} ${jsonPath}`)).toEqual([
      'desired_version .spec.desired.version',
      'phase .status.history[0].phase',
      'stage .status.history[0].conditions[0].type',
      'status .status.history[0].conditions[0].status',
      'reason .status.history[0].conditions[0].reason',
      'message .status.history[0].conditions[0].message',
    ]);
  });

  it('bounds what the reference bounds', () => {
    const { properties } = z
      .looseObject({ properties: z.looseObject({ spec: z.looseObject({}), status: z.looseObject({}) }) })
      .parse(version.schema.openAPIV3Schema);
    expect(properties.spec).toMatchObject({
      required: ['type', 'upgradeAt', 'PDBForceDrainTimeout', 'desired'],
      properties: { type: { enum: ['OSD', 'ARO'] }, PDBForceDrainTimeout: { type: 'integer', format: 'int32', minimum: 0 } },
    });
    expect(properties.status).toMatchObject({
      properties: {
        history: { items: { required: ['phase'], properties: { phase: { enum: ['New', 'Pending', 'Upgrading', 'Upgraded', 'Failed'] } } } },
      },
    });
  });
});

test.each([
  { name: 'an unknown type', change: { type: 'GKE' }, field: 'spec.type' },
  { name: 'half a minute', change: { PDBForceDrainTimeout: 1.5 }, field: 'spec.PDBForceDrainTimeout' },
  { name: 'no target', change: { desired: undefined }, field: 'spec.desired' },
])('reading refuses $name, naming the field', ({ change, field }) => {
  const whole = { type: 'OSD', upgradeAt: '2026-01-01T00:00:00Z', PDBForceDrainTimeout: 0, desired: {} };
  const parsed = UpgradeConfig.schema.safeParse({ metadata: { name: 'a' }, spec: { ...whole, ...change } });
  expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toEqual([field]);
});
