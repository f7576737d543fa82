import { Annotation } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, ClusterGroupUpgradeSpec, PreCachingConfig } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import {
  policyFrameworkMissing,
  validateAnnotations,
  validateConfigRef,
  validateInput,
  validateNameLabels,
  validateWork,
} from './input-checks.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const validate = (annotations: Readonly<Record<string, string>>, actions?: object) =>
  validateInput(
    ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u', annotations } }),
    ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1 }, actions }),
    NOW,
  );

test('an upgrade without oddities is fine', () => {
  expect(validate({ [Annotation.nameSuffix]: 'kuttl', [Annotation.windowStart]: '2026-01-02T00:00:00Z' })).toBeUndefined();
});

test.each<{ name: string; annotations: Record<string, string>; actions: object | undefined; want: string[] }>([
  {
    name: 'a window',
    annotations: { [Annotation.windowEnd]: 'soon' },
    actions: undefined,
    want: ['InvalidWindow', Annotation.windowEnd, '"soon"', 'RFC 3339'],
  },
  {
    name: 'a name suffix',
    annotations: { [Annotation.nameSuffix]: 'Not_OK' },
    actions: undefined,
    want: ['InvalidNameSuffix', Annotation.nameSuffix, '"Not_OK"', 'lower-case'],
  },
  {
    name: 'a label that no server takes',
    annotations: {},
    actions: { beforeEnable: { addClusterLabels: { a: 'b c' } } },
    want: ['InvalidActions', 'spec.actions.beforeEnable.addClusterLabels', '"b c"', 'at most 63'],
  },
  {
    name: 'the same after completion',
    annotations: {},
    actions: { afterCompletion: { addClusterAnnotations: { 'a/b/c': '' } } },
    want: ['InvalidActions', 'spec.actions.afterCompletion.addClusterAnnotations', '"a/b/c"'],
  },
])('$name is refused with field, value and fix', ({ annotations, actions, want }) => {
  const validation = validate(annotations, actions);
  expect(validation).toMatchObject({ status: 'False', reason: want[0] });
  for (const part of want.slice(1)) expect(validation?.message).toContain(part);
});

test.each([
  { name: 'by choice', standalone: true, want: '--standalone' },
  { name: 'without a choice', standalone: false, want: 'does not serve Policy' },
])('a hub without policies $name says so, and looks again', ({ standalone, want }) => {
  const validation = policyFrameworkMissing(standalone);
  expect(validation).toMatchObject({ status: 'False', reason: 'PolicyFrameworkMissing' });
  for (const part of ['spec.managedPolicies', want, 'spec.manifestWorkTemplates']) expect(validation.message).toContain(part);
  expect(validation.recheckAfterMs).toBeGreaterThan(0);
});

test('a cluster under the name of another one is named with the value and the fix; one without the label gets it later', () => {
  const cluster = (name: string, label?: string) =>
    ManagedCluster.schema.parse({ metadata: { name, labels: label === undefined ? {} : { name: label } } });
  const fleet = [cluster('a', 'a'), cluster('b'), cluster('c', 'd'), cluster('e', 'f')];
  expect(validateNameLabels(new Set(['a', 'b']), fleet)).toBeUndefined();
  expect(validateNameLabels(new Set(['a', 'b', 'c']), fleet)).toEqual({
    status: 'False',
    reason: 'InvalidNameLabel',
    message: 'ManagedCluster c has the label name="d", by which no Placement selects it; set it to "c"',
  });
});

test.each([
  { name: 'of the own namespace', ref: { name: 'config', namespace: 'tenant' }, preCaching: true },
  { name: 'without a namespace', ref: { name: 'config' }, preCaching: true },
  { name: 'that nobody asks for', ref: { name: 'config', namespace: 'other' }, preCaching: false },
])('a tenant may name a PreCachingConfig $name', ({ ref, preCaching }) =>
  expect(validateConfigRef(specWith(ref, preCaching), 'tenant')).toBeUndefined(),
);

test('a tenant may not name the PreCachingConfig of another namespace', () =>
  expect(validateConfigRef(specWith({ name: 'config', namespace: 'other' }, true), 'tenant')).toEqual({
    status: 'False',
    reason: 'ForeignPreCachingConfig',
    message:
      'spec.preCachingConfigRef.namespace is "other"; upgrades of namespace tenant use PreCachingConfigs of that namespace alone; create it there, and leave the field out',
  }));

const specWith = (preCachingConfigRef: object, preCaching: boolean) =>
  ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1 }, preCaching, preCachingConfigRef });

const specOf = (parts: object) => ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1 }, ...parts });

test.each([
  { name: 'nothing at all', parts: {}, isRefused: true },
  { name: 'empty lists', parts: { managedPolicies: [], manifestWorkTemplates: [] }, isRefused: true },
  {
    name: 'edits without a key',
    parts: { actions: { beforeEnable: { addClusterLabels: {} }, afterCompletion: { deleteObjects: true } } },
    isRefused: true,
  },
  { name: 'a policy', parts: { managedPolicies: ['p'] }, isRefused: false },
  { name: 'a template', parts: { manifestWorkTemplates: ['t'] }, isRefused: false },
  { name: 'pre-caching alone', parts: { preCaching: true }, isRefused: false },
  { name: 'a backup alone', parts: { backup: true }, isRefused: false },
  {
    name: 'the label of a cluster without policies',
    parts: { managedPolicies: [], actions: { afterCompletion: { addClusterLabels: { 'ztp-done': '' } } } },
    isRefused: false,
  },
])('an upgrade that asks for $name', ({ parts, isRefused }) => {
  expect(validateWork(specOf(parts))?.reason).toBe(isRefused ? 'NothingToDo' : undefined);
});

test('a misspelt annotation of a PreCachingConfig counts where it is used', () => {
  const upgrade = ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u' } });
  const config = PreCachingConfig.schema.parse({ metadata: { name: 'c', namespace: 'ns', annotations: { 'flotilla.io/space': '1' } } });
  expect(validateAnnotations(upgrade, specOf({ preCaching: true }), config)?.reason).toBe('UnknownAnnotation');
  expect(validateAnnotations(upgrade, specOf({ preCaching: false }), config)).toBeUndefined();
  expect(validateAnnotations(upgrade, specOf({ preCaching: true }), undefined)).toBeUndefined();
});

test('a label that a bound set chooses its clusters by is refused where tenants are kept apart', () => {
  const actions = { afterCompletion: { addClusterLabels: { site: 'south' } } };
  const refusal = validateInput(
    ClusterGroupUpgrade.schema.parse({ metadata: { name: 'u' } }),
    ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1 }, actions }),
    NOW,
    { decidingLabels: new Set(['site']) },
  );
  expect(refusal).toMatchObject({ status: 'False', reason: 'InvalidActions' });
  expect(refusal?.message).toContain('spec.actions.afterCompletion.addClusterLabels: label "site" may not be edited');
  expect(validate({}, actions)).toBeUndefined();
});
