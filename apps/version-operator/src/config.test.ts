import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

const payload = ['--payload', '/release'];

test('what is left out has the value that the README says', () =>
  expect(readConfig(payload, {})).toMatchObject({
    observe: false,
    clusterProfile: 'self-managed-high-availability',
    degraded: 'auto',
    passMinutes: 3,
    updateTimeoutSeconds: 60,
    metricsUrl: 'https://thanos-querier.openshift-monitoring.svc.cluster.local:9091',
    metricsCaBundleFile: '/etc/tls/service-ca/service-ca.crt',
    metricsTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  }));

test('hosts that no proxy is used for come from flag or variable', () => {
  expect(readConfig(payload, { NO_PROXY: '.svc' }).noProxy).toBe('.svc');
  expect(readConfig([...payload, '--no-proxy', '10.0.0.0/8'], { NO_PROXY: '.svc' }).noProxy).toBe('10.0.0.0/8');
});

test('a flag wins over its variable', () =>
  expect(
    readConfig([...payload, '--update-service', 'https://flag.example'], { UPDATE_SERVICE: 'https://variable.example' }),
  ).toMatchObject({
    updateService: 'https://flag.example',
  }));

test.each([
  { argv: [], env: {}, want: ['--payload (PAYLOAD)', '--image'] },
  {
    argv: payload,
    env: { UPDATE_SERVICE: 'graph.example' },
    want: ['--update-service', 'UPDATE_SERVICE', '"graph.example"', 'http or https URL'],
  },
  { argv: [...payload, '--metrics-url', 'file:///x'], env: {}, want: ['--metrics-url', '"file:///x"', 'http or https URL'] },
  { argv: [...payload, '--update-timeout-seconds', '0'], env: {}, want: ['--update-timeout-seconds', '"0"'] },
  {
    argv: [...payload, '--always-enable-capabilities', 'Ingress,Harbour'],
    env: {},
    want: ['--always-enable-capabilities', '"Ingress,Harbour"', 'Harbour is none', 'there are Build, '],
  },
  {
    argv: [...payload, '--serving-cert-file', '/a.crt'],
    env: {},
    want: ['--serving-cert-file', '"/a.crt"', '--serving-key-file, or neither'],
  },
  { argv: [...payload, '--degraded', 'perhaps'], env: {}, want: ['--degraded', '"perhaps"', 'auto, blocks or reported'] },
])('refuses $argv $env, naming the setting, its value and the fix', ({ argv, env, want }) => {
  for (const part of want)
    expect(() => readConfig(argv, env)).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_CONFIG', message: expect.stringContaining(part) }),
    );
});
