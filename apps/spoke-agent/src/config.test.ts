import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const argv = (...flags: string[]): string[] => ['node', 'spoke-agent', ...flags];

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
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test.each([
  { name: 'a missing cluster name', env: { HUB_KUBECONFIG: '/hub' }, want: /--cluster-name \(CLUSTER_NAME\): is required/ },
  { name: 'a missing hub kubeconfig', env: { CLUSTER_NAME: 'spoke-1' }, want: /--hub-kubeconfig \(HUB_KUBECONFIG\): is required/ },
  {
    name: 'a cluster name that is no namespace',
    env: { CLUSTER_NAME: '../x', HUB_KUBECONFIG: '/hub' },
    want: /CLUSTER_NAME\): must be a namespace name/,
  },
  { name: 'a wrong port', env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', HEALTH_PORT: '99999' }, want: /HEALTH_PORT/ },
  { name: 'a wrong level', env: { CLUSTER_NAME: 's', HUB_KUBECONFIG: '/hub', LOG_LEVEL: 'loud' }, want: /LOG_LEVEL/ },
])('$name is refused by name', ({ env, want }) => expect(() => readConfig(argv(), env)).toThrow(want));
