import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureDebianPackages, ensureTools, MONITORING_PACKAGES } from '@flotilla/control-plane/toolchain';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CHARTS, NAMESPACE } from './chart-hub.ts';
import { REQUIRED, sets } from './chart-server.ts';

const PrometheusRule = z.looseObject({
  kind: z.literal('PrometheusRule'),
  spec: z.object({ groups: z.array(z.looseObject({ rules: z.array(z.looseObject({ alert: z.string() })) })) }),
});

/** Alerts that whoever runs the reference operator has silences and runbooks for. */
const ALERTS = [
  'ClusterVersionOperatorDown',
  'CannotRetrieveUpdates',
  'UpdateAvailable',
  'ClusterReleaseNotAccepted',
  'ClusterNotUpgradeable',
  'ClusterOperatorDown',
  'ClusterOperatorDegraded',
  'ClusterOperatorFlapping',
  'CannotEvaluateConditionalUpdates',
  'OpenShiftUpdateRiskMightApply',
];

async function renderedRules() {
  const tools = await ensureTools(['helm']);
  const values = [
    ...REQUIRED.spoke,
    'versionOperator.enabled=true',
    `versionOperator.release=registry.example.com/releases/release@sha256:${'a'.repeat(64)}`,
    'versionOperator.monitoring.enabled=true',
  ];
  const text = await runCommand(tools.path('helm'), ['template', 'agent', join(CHARTS, 'spoke'), '-n', NAMESPACE, ...sets(values)]);
  const found = parseAllDocuments(text).flatMap((document) => PrometheusRule.safeParse(document.toJS()).data ?? []);
  return found[0]?.spec ?? expect.fail('no PrometheusRule');
}

const conditions = (name: string, condition: string, reason: string) =>
  `cluster_operator_conditions{name="${name}", condition="${condition}", reason="${reason}"}`;
const up = (name: string, reason: string) => `cluster_operator_up{name="${name}", version="1", reason="${reason}"}`;
/** Alerts of a name that fire at a moment, by their labels. */
const firing = (alertname: string, at: string, ...of: Readonly<Record<string, string>>[]) => ({
  alertname,
  eval_time: at,
  exp_alerts: of.map((labels) => ({ exp_labels: labels })),
});

/** What is so for an hour and a half, and which alerts come of it. */
const story = {
  interval: '1m',
  input_series: [
    { series: up('etcd', 'AsExpected'), values: '1x90' },
    { series: conditions('etcd', 'Degraded', 'AsExpected'), values: '0x90' },
    { series: up('dns', 'NoPods'), values: '0x90' },
    { series: conditions('dns', 'Degraded', 'Broken'), values: '1x90' },
    { series: up('silent', 'AsExpected'), values: '1x90' },
    { series: up('version', 'AsExpected'), values: '1x90' },
    { series: conditions('version', 'Failing', ''), values: '0x90' },
    { series: conditions('version', 'RetrievedUpdates', 'RemoteFailed'), values: '0x90' },
    { series: conditions('version', 'Upgradeable', 'AdminAckRequired'), values: '0x90' },
    { series: 'cluster_version_operator_update_retrieval_timestamp_seconds{name=""}', values: '0x90' },
  ],
};

test('the alerts of the version operator are known by name, and fire for what they are about', async () => {
  await ensureDebianPackages(MONITORING_PACKAGES, console.log);
  const { groups } = await renderedRules();
  expect(groups.flatMap(({ rules }) => rules.map(({ alert: name }) => name))).toEqual(ALERTS);
  // texts are for people
  const bare = groups.map((group) => ({ ...group, rules: group.rules.map((rule) => ({ ...rule, annotations: undefined })) }));
  const dir = await mkdtemp(join(tmpdir(), 'flotilla-alerts-'));
  try {
    await writeFile(join(dir, 'whole.json'), JSON.stringify({ groups }));
    await writeFile(join(dir, 'rules.json'), JSON.stringify({ groups: bare }));
    const severity = (level: string, labels: Readonly<Record<string, string>>) => ({ severity: level, ...labels });
    const alert_rule_test = [
      firing('ClusterOperatorDown', '9m'),
      firing('ClusterOperatorDown', '11m', severity('critical', { name: 'dns', reason: 'NoPods' })),
      firing(
        'ClusterOperatorDegraded',
        '31m',
        severity('warning', { name: 'dns', reason: 'Broken' }),
        severity('warning', { name: 'silent' }),
      ),
      firing('CannotRetrieveUpdates', '59m'),
      firing('CannotRetrieveUpdates', '61m', severity('warning', {})),
      firing('ClusterNotUpgradeable', '61m', severity('info', { name: 'version', condition: 'Upgradeable', reason: 'AdminAckRequired' })),
      firing('ClusterReleaseNotAccepted', '61m'),
      firing('UpdateAvailable', '61m'),
    ];
    await writeFile(join(dir, 'story.json'), JSON.stringify({ rule_files: ['rules.json'], tests: [{ ...story, alert_rule_test }] }));
    await runCommand('promtool', ['check', 'rules', join(dir, 'whole.json')]);
    await runCommand('promtool', ['test', 'rules', join(dir, 'story.json')]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
