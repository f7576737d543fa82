import { OCM_TOOLS } from '@flotilla/control-plane/servers';
import { expect, test } from 'vitest';
import { parseSetUp, requirementsOf } from './setup.ts';

const CRIO = ['crio', 'pinns', 'import-image'];

test.each([
  {
    command: 'test',
    clusters: true,
    builds: ['etcd', 'kube-apiserver'],
    leavesOut: [...OCM_TOOLS, ...CRIO, 'kube-controller-manager', 'kubelet', 'helm', 'registry'],
  },
  { command: 'test:system', clusters: true, builds: [...OCM_TOOLS, ...CRIO, 'kubelet', 'cosign'], leavesOut: [] },
  { command: 'demo', clusters: true, builds: ['kubelet', 'registry'], leavesOut: [...OCM_TOOLS, ...CRIO, 'helm', 'cosign'] },
  { command: 'demo --ocm', clusters: true, builds: [...OCM_TOOLS, 'kubelet'], leavesOut: CRIO },
  { command: 'test:system', clusters: false, builds: ['kube-apiserver', 'helm', 'cosign'], leavesOut: [...OCM_TOOLS, ...CRIO, 'kubelet'] },
] as const)('$command builds what it runs and nothing else (whole clusters: $clusters)', ({ command, clusters, builds, leavesOut }) => {
  const { tools } = requirementsOf(command, clusters);
  expect(tools).toEqual(expect.arrayContaining([...builds]));
  expect(tools.filter((name) => [...leavesOut].some((left) => left === name))).toEqual([]);
});

test('where no whole cluster runs, no Debian package is installed', () => {
  expect(requirementsOf('test:system', false).packages).toEqual([]);
  expect(requirementsOf('test', true).packages).toEqual([]);
});

test('the demo starts its clusters before helm is built', () => {
  expect(requirementsOf('demo', true).later).toEqual(['helm']);
  expect(requirementsOf('test:system', true).later).toEqual([]);
});

test('the demo installs no CRI-O and no Redis of its own, and monitoring later', () => {
  const { packages } = requirementsOf('demo', true);
  expect(packages).toEqual(expect.arrayContaining(['containerd']));
  expect(packages).not.toEqual(expect.arrayContaining(['conmon']));
  expect(packages).not.toEqual(expect.arrayContaining(['redis-server']));
  expect(packages).not.toEqual(expect.arrayContaining(['prometheus']));
  expect(requirementsOf('test:system', true).packages).toEqual(expect.arrayContaining(['prometheus', 'gcc']));
});

test('--help builds nothing', () => {
  expect(parseSetUp(['--help'])).toBeUndefined();
});

test('a command is chosen by --for; everything is the default', () => {
  expect(parseSetUp([])).toBe('test:system');
  expect(parseSetUp(['--for', 'demo'])).toBe('demo');
});

test.each([
  { args: ['--for', 'dmo'], says: '--for dmo: must be one of test, test:system, demo, demo --ocm' },
  { args: ['--hlep'], says: '--hlep' },
  { args: ['demo'], says: 'demo' },
])('$args is refused', ({ args, says }) => {
  expect(() => parseSetUp(args)).toThrow(says);
});
