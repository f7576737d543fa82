import { readFile } from 'node:fs/promises';
import { ConfigMap } from '@flotilla/api/core';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readOperatorConfig } from './read-config.ts';
import { OperatorConfigFile } from './schema.ts';

/** As much of a JSON schema as names keys. */
interface Section {
  readonly properties?: Readonly<Record<string, Section>> | undefined;
}
const Section: z.ZodType<Section> = z.object({
  properties: z
    .record(
      z.string(),
      z.lazy(() => Section),
    )
    .optional(),
});
const keysOf = ({ properties = {} }: Section): string[] =>
  Object.entries(properties)
    .flatMap(([key, section]) => [key, ...keysOf(section).map((below) => `${key}.${below}`)])
    .toSorted();

const LEAST = 'nodeDrain: {timeOut: 45}\n';
const EXAMPLE = `
upgradeType: OSD
configManager:
  source: OCM
  ocmBaseUrl: https://api.openshift.com
  watchInterval: 60
validation: {cincinnati: true}
environment: {fedramp: false}
maintenance:
  controlPlaneTime: 90
  ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown, ClusterOperatorDegraded]}
scale: {timeOut: 30, extraMachinePools: ["non-serving-*"]}
upgradeWindow: {delayTrigger: 30, timeOut: 120}
nodeDrain:
  timeOut: 45
  expectedNodeDrainTime: 8
  disableDrainStrategies: false
  ignoredNamespacePatterns: ["^example-.+$"]
healthCheck:
  ignoredCriticals: [UpgradeClusterCheckFailedSRE]
  ignoredNamespaces: [openshift-logging]
extDependencyAvailabilityChecks: {http: {timeout: 10, urls: [https://api.openshift.com]}}
cacheProof: {required: yes, maxAge: 90}
featureGate: {enabled: [PreHealthCheck, ServiceLogNotification]}
somethingNew: {of: [a, later, version]}
`;

test('reads the whole documented example', () => {
  expect(readOperatorConfig(EXAMPLE)).toEqual({
    upgradeType: 'OSD',
    configManager: { source: 'OCM', ocmBaseUrl: 'https://api.openshift.com', watchInterval: 60 },
    validation: { cincinnati: true },
    environment: { fedramp: false },
    maintenance: { controlPlaneTime: 90, ignoredAlerts: { controlPlaneCriticals: ['ClusterOperatorDown', 'ClusterOperatorDegraded'] } },
    scale: { timeOut: 30, extraMachinePools: ['non-serving-*'] },
    upgradeWindow: { delayTrigger: 30, timeOut: 120 },
    nodeDrain: { timeOut: 45, expectedNodeDrainTime: 8, disableDrainStrategies: false, ignoredNamespacePatterns: ['^example-.+$'] },
    healthCheck: { ignoredCriticals: ['UpgradeClusterCheckFailedSRE'], ignoredNamespaces: ['openshift-logging'] },
    extDependencyAvailabilityChecks: { http: { timeout: 10, urls: ['https://api.openshift.com'] } },
    cacheProof: { required: true, maxAge: 90 },
    featureGate: { enabled: ['PreHealthCheck', 'ServiceLogNotification'] },
  });
});

test('reads the example that is applied as it stands', async () => {
  const text = await readFile(new URL('../../../../examples/managed-upgrade/operator-config.yaml', import.meta.url), 'utf8');
  const { data } = ConfigMap.schema.parse(parse(text));
  expect(readOperatorConfig(data?.['config.yaml'])).toMatchObject({ configManager: { source: 'LOCAL' }, nodeDrain: { timeOut: 45 } });
});

test('knows the same keys as the values of its chart', async () => {
  const text = await readFile(new URL('../../../../charts/spoke/values.schema.json', import.meta.url), 'utf8');
  const chart = Section.parse(JSON.parse(text)).properties?.upgradeOperator?.properties?.config;
  const own = Section.parse(z.toJSONSchema(OperatorConfigFile, { io: 'input' }));
  expect(keysOf(own)).toContain('nodeDrain.timeOut');
  expect(keysOf(Section.parse(chart))).toEqual(keysOf(own));
});

test('gives what is left out its documented default', () => {
  expect(readOperatorConfig(`${LEAST}scale:\nhealthCheck: {ignoredCriticals: }\n`)).toEqual({
    upgradeType: 'ARO',
    configManager: { watchInterval: 1 },
    validation: { cincinnati: false },
    environment: { fedramp: false },
    maintenance: { controlPlaneTime: 90, ignoredAlerts: { controlPlaneCriticals: [] } },
    scale: { timeOut: 30, extraMachinePools: [] },
    upgradeWindow: { delayTrigger: 30, timeOut: 120 },
    nodeDrain: { timeOut: 45, expectedNodeDrainTime: 8, disableDrainStrategies: false, ignoredNamespacePatterns: [] },
    healthCheck: { ignoredCriticals: [], ignoredNamespaces: [] },
    extDependencyAvailabilityChecks: { http: { timeout: 15, urls: [] } },
    cacheProof: { required: false, maxAge: 1_440 },
    featureGate: { enabled: [] },
  });
});

test.each([
  {
    given: 'configManager: {source: ocm, ocmBaseUrl: "http://127.0.0.1:1"}',
    key: 'configManager',
    want: { source: 'OCM', ocmBaseUrl: 'http://127.0.0.1:1', watchInterval: 1 },
  },
  { given: 'configManager: {source: ""}', key: 'configManager', want: { watchInterval: 1 } },
  {
    given: 'configManager: {source: local, localConfigName: managed-upgrade-config}',
    key: 'configManager',
    want: { source: 'LOCAL', localConfigName: 'managed-upgrade-config', watchInterval: 1 },
  },
  { given: 'upgradeWindow: {delayTrigger: 0, timeOut: 0}', key: 'upgradeWindow', want: { delayTrigger: 0, timeOut: 0 } },
  { given: 'validation: {cincinnati: yes}', key: 'validation', want: { cincinnati: true } },
  {
    given: 'extDependencyAvailabilityChecks: {http: {timeout: 0}}',
    key: 'extDependencyAvailabilityChecks',
    want: { http: { timeout: 0, urls: [] } },
  },
] as const)('takes $given', ({ given, key, want }) => {
  expect(readOperatorConfig(`${LEAST}${given}\n`)[key]).toEqual(want);
});

test.each([
  { given: '{}', want: 'config nodeDrain timeOut is invalid: nodeDrain.timeOut is missing: must be a whole number from 1 to 525600' },
  {
    given: 'nodeDrain: {timeOut: 0}',
    want: 'config nodeDrain timeOut is invalid: nodeDrain.timeOut is 0: must be a whole number from 1 to 525600',
  },
  {
    given: `${LEAST}maintenance: {controlPlaneTime: 0}`,
    want: 'config maintenance controlPlaneTime out is invalid: maintenance.controlPlaneTime is 0: must be a whole number from 1 to 525600',
  },
  {
    given: `${LEAST}scale: {timeOut: soon}`,
    want: 'config scale timeOut is invalid: scale.timeOut is "soon": must be a whole number from 1 to 525600',
  },
  {
    given: `${LEAST}scale: {extraMachinePools: ["a[b"]}`,
    want: 'config scale extraMachinePools contains invalid pattern: scale.extraMachinePools.0 is "a[b": is no pattern: close every [ and give \\ something to stand before',
  },
  {
    given: `${LEAST}upgradeWindow: {delayTrigger: -1}`,
    want: 'config upgrade window delay trigger is invalid: upgradeWindow.delayTrigger is -1: must be a whole number from 0 to 525600',
  },
  {
    given: `${LEAST}upgradeWindow: {timeOut: 1.5}`,
    want: 'config upgrade window time out is invalid: upgradeWindow.timeOut is 1.5: must be a whole number from 0 to 525600',
  },
  {
    given: 'nodeDrain: {timeOut: 1, expectedNodeDrainTime: 0}',
    want: 'config nodeDrain expectedNodeDrainTime is invalid: nodeDrain.expectedNodeDrainTime is 0: must be a whole number from 1 to 525600',
  },
  {
    given: `${LEAST}extDependencyAvailabilityChecks: {http: {timeout: 61}}`,
    want: 'config HTTP timeout is invalid (Requires int between 1 - 60 inclusive): extDependencyAvailabilityChecks.http.timeout is 61: must be a whole number from 0 to 60',
  },
  {
    given: `${LEAST}extDependencyAvailabilityChecks: {http: {timeout: 0, urls: [https://a.example]}}`,
    want: 'config HTTP timeout is invalid (Requires int between 1 - 60 inclusive): extDependencyAvailabilityChecks.http.timeout is 0: must be at least 1 when there are urls',
  },
  {
    given: `${LEAST}configManager: {source: GIT}`,
    want: 'invalid configManager spec provider type defined: configManager.source is "GIT": must be OCM or LOCAL',
  },
  { given: `${LEAST}upgradeType: GCP`, want: 'invalid configManager spec provider type defined: upgradeType is "GCP": must be OSD or ARO' },
  {
    given: `${LEAST}configManager: {source: OCM}`,
    want: 'configManager.ocmBaseUrl is missing: must be an http or https URL when source is OCM',
  },
  {
    given: `${LEAST}configManager: {source: LOCAL, localConfigName: mine}`,
    want: 'configManager.localConfigName is "mine": please use managed-upgrade-config as the upgrade config name',
  },
  { given: `${LEAST}configManager: {watchInterval: 0}`, want: 'configManager.watchInterval is 0: must be a whole number from 1 to 525600' },
  {
    given: 'nodeDrain: {timeOut: 1, ignoredNamespacePatterns: ["("]}',
    want: 'nodeDrain.ignoredNamespacePatterns.0 is "(": is no regular expression of Go: missing closing ): `(`',
  },
  {
    given: 'nodeDrain: {timeOut: 1, ignoredNamespacePatterns: ["^team-(?!a)"]}',
    want: 'nodeDrain.ignoredNamespacePatterns.0 is "^team-(?!a)": is no regular expression of Go: invalid or unsupported Perl syntax: `(?!`',
  },
  { given: '[a, list]', want: 'config.yaml is ["a","list"]: Invalid input: expected object, received array' },
])('refuses $given, naming key, value and fix', ({ given, want }) => {
  expect(() => readOperatorConfig(given)).toThrow(expect.objectContaining({ code: 'FLOTILLA_OPERATOR_CONFIG', message: want }));
});

test('names the line of what is no YAML', () => {
  expect(() => readOperatorConfig('a: 1\nb: [')).toThrow(
    /^check config map managed-upgrade-operator-config for incorrect yaml formatting yaml: line 2: /,
  );
});

test('does not expand aliases without end', () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((name, i) => `${name}: &${name} [${`*${'abcdefgh'[i]},`.repeat(9)}x]`),
  ].join('\n');
  expect(() => readOperatorConfig(bomb)).toThrow(/incorrect yaml formatting/);
});

test('says that the key is missing', () => {
  expect(() => readOperatorConfig(undefined)).toThrow('config map managed-upgrade-operator-config has no key config.yaml');
});

test('a file that is larger than any configuration is refused unread', () => {
  expect(() => readOperatorConfig(`# ${'x'.repeat(40_000)}`)).toThrow(/has 40002 characters in config\.yaml; at most 32768 are read/);
});
