import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const argv = (...flags: string[]): string[] => flags;

test('flags win over the environment and the rest has defaults', () => {
  const config = readConfig(argv('--cluster-name', 'spoke-1', '--registration', 'false'), {
    CLUSTER_NAME: 'other',
    HUB_KUBECONFIG: '/hub',
  });
  expect(config).toEqual({
    clusterName: 'spoke-1',
    hubKubeconfig: '/hub',
    spokeKubeconfig: undefined,
    logLevel: 'info',
    healthPort: 8080,
    registration: false,
    workEvictionGraceMs: 3_600_000,
    works: { statusSyncMs: 10_000, resyncMs: 240_000, feedback: 'settled', watchedReadMs: 2000, firstReportMs: 2000 },
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test('works are executed unless they are not, as often as said', () => {
  const env = { CLUSTER_NAME: 'spoke-1', HUB_KUBECONFIG: '/hub', WORK_STATUS_SYNC_SECONDS: '5' };
  expect(readConfig(argv('--work-resync-seconds', '0.5'), env).works).toMatchObject({ statusSyncMs: 5000, resyncMs: 500 });
  expect(readConfig(argv('--work-feedback', 'immediate'), env).works?.feedback).toBe('immediate');
  expect(readConfig(argv(), { ...env, WORKS: 'false' }).works).toBeUndefined();
});

test.each([
  { name: 'a missing cluster name', env: { HUB_KUBECONFIG: '/hub' }, want: /--cluster-name \(CLUSTER_NAME\): is required/ },
  { name: 'a missing hub kubeconfig', env: { CLUSTER_NAME: 'spoke-1' }, want: /--hub-kubeconfig \(HUB_KUBECONFIG\): is required/ },
  {
    name: 'a cluster name that is no namespace',
    env: { CLUSTER_NAME: '../x', HUB_KUBECONFIG: '/hub' },
    want: /CLUSTER_NAME\) is "..\/x": must be a namespace name/,
  },
  { name: 'a wrong port', env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', HEALTH_PORT: '99999' }, want: /HEALTH_PORT/ },
  {
    name: 'a time between repairs of nothing',
    env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', WORK_RESYNC_SECONDS: '0' },
    want: /--work-resync-seconds .*: must be more than 0 seconds/,
  },
  {
    name: 'a time that is no number',
    env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', WORK_STATUS_SYNC_SECONDS: 'often' },
    want: /WORK_STATUS_SYNC_SECONDS\) is "often": must be a number of seconds/,
  },
  {
    name: 'a switch that is neither on nor off',
    env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', WORKS: 'maybe' },
    want: /--works \(WORKS\) is "maybe": must be true or false/,
  },
  { name: 'a wrong level', env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', LOG_LEVEL: 'loud' }, want: /LOG_LEVEL/ },
])('$name is refused by name', ({ env, want }) => expect(() => readConfig(argv(), env)).toThrow(want));
