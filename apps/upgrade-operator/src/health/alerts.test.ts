import { expect, test } from 'vitest';
import { alertNames, criticalAlertsQuery, goDuration, pagingAlertsQuery } from './alerts.ts';

test.each([
  {
    name: 'nothing ignored',
    ignored: { ignoredCriticals: [], ignoredNamespaces: [] },
    want: 'ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$"}',
  },
  {
    name: 'namespaces before names, each a matcher of its own',
    ignored: { ignoredCriticals: ['A', 'B'], ignoredNamespaces: ['openshift-logging'] },
    want: 'ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$",namespace!="openshift-logging",alertname!="A",alertname!="B"}',
  },
  {
    name: 'a name that would end the text',
    ignored: { ignoredCriticals: ['A",x="'], ignoredNamespaces: [] },
    want: 'ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$",alertname!="A\\",x=\\""}',
  },
])('the query with $name', ({ ignored, want }) => {
  expect(criticalAlertsQuery(ignored)).toBe(want);
});

const PAGING =
  'UpgradeConfigValidationFailedSRE|UpgradeClusterCheckFailedSRE|UpgradeControlPlaneUpgradeTimeoutSRE|UpgradeNodeUpgradeTimeoutSRE|UpgradeNodeDrainFailedSRE';

test.each([
  { startMs: 0, endMs: 182_900, nowMs: 242_900, want: '[3m2s] offset 1m0s' },
  { startMs: 0, endMs: 3_600_000, nowMs: 3_600_500, want: '[1h0m0s]' },
  { startMs: 0, endMs: 0, nowMs: 5_000, want: '[1s] offset 5s' },
])('paging alerts of a time are asked for with $want', ({ want, ...moments }) => {
  expect(pagingAlertsQuery(moments)).toBe(
    `sum by (alertname) (max_over_time(ALERTS{alertstate="firing",severity="critical",alertname=~"${PAGING}"}${want}))`,
  );
});

test.each([
  [59, '59s'],
  [60, '1m0s'],
  [3_600, '1h0m0s'],
  [90_061, '25h1m1s'],
])('%i seconds are %s', (seconds, want) => expect(goDuration(seconds)).toBe(want));

test('names come once, sorted', () => {
  const samples = ['B', 'A', 'B', undefined].map((alertname) => ({ labels: { ...(alertname && { alertname }) }, value: 1 }));
  expect(alertNames(samples)).toEqual(['A', 'B']);
});
