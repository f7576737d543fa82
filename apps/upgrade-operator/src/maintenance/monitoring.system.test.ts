import { ClusterVersion } from '@flotilla/api/config';
import { OPERATOR_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { type AlertmanagerServer, type PrometheusServer, startAlertmanager, startPrometheus } from '@flotilla/control-plane/servers';
import { createPrometheus } from '@flotilla/http';
import { settled } from '@flotilla/pace/testing';
import { systemClock } from '@flotilla/runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAlertmanager } from '../clients/alertmanager.ts';
import { createAlertHistory } from '../health/alerts.ts';
import { createHealthChecks } from '../health/health-checks.ts';
import { readOperatorConfig } from '../operator-config/read-config.ts';
import type { HealthQuestion } from '../ports.ts';
import { createSilences } from './silences.ts';

const QUICK = { clock: systemClock, retry: { attempts: 2, baseMs: 10, maxMs: 20 }, timeoutMs: 5_000 };
const MINUTE = 60_000;
const { signal } = new AbortController();

let alertmanager: AlertmanagerServer;
let prometheus: PrometheusServer;
beforeAll(async () => {
  alertmanager = await startAlertmanager();
  prometheus = await startPrometheus({ alertmanager: `127.0.0.1:${alertmanager.port}` });
});
afterAll(async () => {
  await prometheus?.stop();
  await alertmanager?.stop();
});

const at = (server: { url: string }) => async () => new URL(server.url);
const silencesAt = (server: { url: string }) => createSilences(createAlertmanager({ ...QUICK, url: at(server) }), systemClock);
const alertsAt = (server: { url: string }) => createPrometheus({ ...QUICK, url: at(server) });
const until = (assertion: () => Promise<void>) => settled(assertion, { timeout: 30_000, interval: 200 });

describe('silences in a real Alertmanager', () => {
  const known = () => createAlertmanager({ ...QUICK, url: at(alertmanager) }).silences();
  const states = async () => Object.fromEntries((await known()).map(({ comment, status }) => [comment, status.state]));
  /** Alert name → whether it is silenced, as Alertmanager sees it. */
  async function suppressed(): Promise<Record<string, boolean>> {
    const answer = await fetch(`${alertmanager.url}/api/v2/alerts`);
    const alerts = (await answer.json()) as { labels: { alertname: string }; status: { state: string } }[];
    return Object.fromEntries(alerts.map(({ labels, status }) => [labels.alertname, status.state === 'suppressed']));
  }

  test('of the control plane are made once, hold what they should, and end', async () => {
    const silences = silencesAt(alertmanager);
    const endsAt = Date.now() + 90 * MINUTE;
    const window = { version: '4.14.12', endsAt, criticalAlerts: ['ClusterOperatorDown', 'ClusterOperatorDegraded'] };
    await prometheus.setAlerts([
      { alertname: 'PlatformWarning', labels: { severity: 'warning', namespace: 'openshift-etcd' } },
      { alertname: 'AppWarning', labels: { severity: 'warning', namespace: 'shop' } },
      { alertname: 'PlatformCritical', labels: { severity: 'critical', namespace: 'openshift-etcd' } },
      { alertname: 'ClusterOperatorDown', labels: { severity: 'critical', namespace: 'shop' } },
    ]);
    expect(await silences.isStanding(signal)).toBe(false);

    await silences.startControlPlane(window, signal);
    await silences.startControlPlane({ ...window, endsAt: endsAt + MINUTE }, signal);
    const made = await known();
    expect(made.map(({ comment, createdBy, endsAt: end, matchers }) => ({ comment, createdBy, end: Date.parse(end), matchers }))).toEqual(
      expect.arrayContaining([
        {
          comment: 'Silence for OSD control plane upgrade to version 4.14.12',
          createdBy: OPERATOR_NAME,
          end: endsAt,
          matchers: [
            expect.objectContaining({ name: 'severity', value: '(warning|info)', isRegex: true }),
            expect.objectContaining({ name: 'namespace', value: '(^openshift.*|^kube.*|^redhat.*|^default$)', isRegex: true }),
          ],
        },
        {
          comment: 'Silence for critical alerts during OSD control plane upgrade to version 4.14.12',
          createdBy: OPERATOR_NAME,
          end: endsAt,
          matchers: [expect.objectContaining({ name: 'alertname', value: '(ClusterOperatorDown|ClusterOperatorDegraded)', isRegex: true })],
        },
      ]),
    );
    expect(made).toHaveLength(2);
    expect(await silences.isStanding(signal)).toBe(true);
    await until(async () =>
      expect(await suppressed()).toEqual({ PlatformWarning: true, AppWarning: false, PlatformCritical: false, ClusterOperatorDown: true }),
    );

    await silences.endControlPlane(signal);
    await silences.endControlPlane(signal);
    expect(new Set(Object.values(await states()))).toEqual(new Set(['expired']));
    expect(await silences.isStanding(signal)).toBe(false);
    // Another attempt at the same version has its own.
    await silences.startControlPlane(window, signal);
    expect((await known()).map(({ status }) => status.state).toSorted()).toEqual(['active', 'active', 'expired', 'expired']);
    await silences.endControlPlane(signal);
    await until(async () => expect(Object.values(await suppressed())).not.toContain(true));
  });

  test('of the workers are one at a time, one for each number of them', async () => {
    const silences = silencesAt(alertmanager);
    const beganAt = Date.now();
    const ofWorkers = async () =>
      (await known()).filter(({ comment, status }) => comment.includes('worker node') && status.state === 'active');
    const set = (remainingNodes: number) =>
      silences.setWorkers(
        { version: '4.14.13', remainingNodes, endsAt: Date.now() + remainingNodes * 68 * MINUTE, since: beganAt },
        signal,
      );
    // A node that is back has had its time.
    for (const [remaining, silenced] of [
      [3, 3],
      [3, 3],
      [2, 2],
      [3, 2],
      [1, 1],
    ] as const) {
      await set(remaining);
      const active = await ofWorkers();
      expect(active.map(({ comment }) => comment)).toEqual([
        `Silence for OSD worker node upgrade to version 4.14.13 with remaining ${silenced} nodes`,
      ]);
      expect(Date.parse(active[0]?.endsAt ?? '')).toBeGreaterThan(Date.now() + (silenced * 68 - 1) * MINUTE);
    }
    await silences.endControlPlane(signal);
    expect(await ofWorkers()).toHaveLength(1);
    await silences.endWorkers(signal);
    expect(await ofWorkers()).toEqual([]);
  });

  test('of somebody else are nobody of ours', async () => {
    const theirs = createAlertmanager({ ...QUICK, url: at(alertmanager) });
    const [startsAt, endsAt] = [Date.now(), Date.now() + MINUTE].map((ms) => new Date(ms).toISOString());
    const comment = 'Silence for OSD control plane upgrade to version 4.14.14';
    const matchers = [{ name: 'a', value: 'b', isRegex: false }];
    const id = await theirs.put({ comment, matchers, createdBy: 'me', startsAt: String(startsAt), endsAt: String(endsAt) });
    const silences = silencesAt(alertmanager);
    expect(await silences.isStanding(signal)).toBe(false);
    await silences.startControlPlane({ version: '4.14.14', endsAt: Date.now() + MINUTE, criticalAlerts: [] }, signal);
    await silences.endControlPlane(signal);
    expect(
      (await known())
        .filter((silence) => silence.comment === comment)
        .map(({ createdBy, status }) => `${createdBy} ${status.state}`)
        .toSorted(),
    ).toEqual([`${OPERATOR_NAME} expired`, 'me active']);
    await theirs.expire(id);
  });

  test('cannot be had from an Alertmanager that is gone', async () => {
    await using gone = await startAlertmanager();
    const silences = silencesAt(gone);
    await gone.stop();
    const why = {
      code: 'FLOTILLA_SERVICE_UNREACHABLE',
      message: expect.stringMatching(/^Alertmanager: GET \/api\/v2\/silences: connect ECONNREFUSED/),
    };
    await expect(silences.startControlPlane({ version: 'v', endsAt: 0, criticalAlerts: [] }, signal)).rejects.toMatchObject(why);
    await expect(silences.endWorkers(signal)).rejects.toMatchObject(why);
    await expect(silences.isStanding(signal)).rejects.toMatchObject(why);
  });

  test('that it refuses say why in its words', async () => {
    const refused = silencesAt(alertmanager).startControlPlane(
      { version: 'refused', endsAt: Date.now() - MINUTE, criticalAlerts: [] },
      signal,
    );
    await expect(refused).rejects.toThrow('[POST /silences][400] postSilencesBadRequest  ');
  });
});

describe('health by alerts of a real Prometheus', () => {
  const reported = new Map<string, boolean>();
  const checks = (server: { url: string }) =>
    createHealthChecks({
      prometheus: alertsAt(server),
      budgets: { list: async () => [], validation: async () => undefined },
      report: ({ state, version, reason }, failed) => void reported.set(`${state} ${version} ${reason}`, failed),
      versionOf: () => '4.14.9',
    });
  const question = (healthCheck: object = {}): HealthQuestion => ({
    upgradeConfig: UpgradeConfig.schema.parse({
      metadata: { name: 'u' },
      spec: { type: 'OSD', upgradeAt: '', PDBForceDrainTimeout: 0, desired: {} },
    }),
    phase: 'Upgrading',
    cluster: {
      clusterVersion: ClusterVersion.schema.parse({ metadata: { name: 'version' }, spec: { clusterID: 'c' } }),
      clusterOperators: [],
      pools: [],
      nodes: [],
      machineSets: [],
      machines: [],
    },
    config: readOperatorConfig(JSON.stringify({ nodeDrain: { timeOut: 1 }, healthCheck })),
  });
  beforeEach(() => reported.clear());

  test('sees a critical alert of the platform fire and go, and no other', async () => {
    const health = checks(prometheus);
    await prometheus.setAlerts([
      { alertname: 'AppDown', labels: { severity: 'critical', namespace: 'shop' } },
      { alertname: 'EtcdSlow', labels: { severity: 'warning', namespace: 'openshift-etcd' } },
    ]);
    await until(async () => expect(await health.before(question(), signal)).toEqual({ blocks: false }));
    expect(Object.fromEntries(reported)).toMatchObject({
      'Upgrading 4.14.9 critical_alerts_firing': false,
      'Upgrading 4.14.9 healthcheck_query_failed': false,
      'Upgrading 4.14.9 cluster_operators_degraded': false,
    });

    await prometheus.setAlerts([
      { alertname: 'EtcdDown', labels: { severity: 'critical', namespace: 'openshift-etcd' } },
      { alertname: 'LogsDown', labels: { severity: 'critical', namespace: 'openshift-logging' } },
    ]);
    await until(async () =>
      expect(await health.before(question(), signal)).toEqual({ blocks: true, message: 'critical alert(s) firing: EtcdDown, LogsDown' }),
    );
    expect(reported.get('Upgrading 4.14.9 critical_alerts_firing')).toBe(true);
    const ignoring = question({ ignoredCriticals: ['EtcdDown'], ignoredNamespaces: ['openshift-logging'] });
    expect(await health.before(ignoring, signal)).toEqual({ blocks: false });
    expect(await health.after(question({ ignoredCriticals: ['EtcdDown'] }), signal)).toMatchObject({ blocks: true });

    await prometheus.setAlerts([]);
    await until(async () => expect(await health.after(question(), signal)).toEqual({ blocks: false }));
  });

  test('takes silence of Prometheus for no health', async () => {
    await using gone = await startPrometheus();
    const health = checks(gone);
    await gone.stop();
    expect(await health.before(question(), signal)).toMatchObject({
      blocks: true,
      message: expect.stringMatching(/^unable to query critical alerts: Prometheus: GET \/api\/v1\/query: connect ECONNREFUSED/),
    });
    expect(reported.get('Upgrading 4.14.9 healthcheck_query_failed')).toBe(true);
  });

  test('a refused query is an error in its words', async () => {
    await expect(alertsAt(prometheus).query('ALERTS{')).rejects.toMatchObject({
      code: 'FLOTILLA_SERVICE_REFUSED',
      message: expect.stringContaining('parse error'),
    });
  });

  test('remembers who paged during an upgrade', async () => {
    const began = Date.now();
    await prometheus.setAlerts([{ alertname: 'UpgradeClusterCheckFailedSRE', labels: { severity: 'critical', namespace: 'openshift-x' } }]);
    const history = createAlertHistory(alertsAt(prometheus), () => Date.now());
    await until(async () => expect(await history.paging(began, Date.now(), signal)).toEqual(['UpgradeClusterCheckFailedSRE']));
    await prometheus.setAlerts([]);
    const ended = Date.now();
    expect(await history.paging(began, ended, signal)).toEqual(['UpgradeClusterCheckFailedSRE']);
    expect(await history.paging(began - 60 * MINUTE, began - 30 * MINUTE, signal)).toEqual([]);
  });
});
