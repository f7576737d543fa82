import { expect, test } from 'vitest';
import { type GraphAccessOptions, graphAccess } from './graph-access.ts';

const may = (url: string, options: GraphAccessOptions = {}) => graphAccess(options).problem(new URL(url)) === undefined;

test.each([
  'http://127.0.0.1:8080/graph',
  'http://127.9.9.9/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://169.254.169.254/latest/meta-data',
  'http://[::ffff:169.254.169.254]/',
  'http://[64:ff9b::169.254.169.254]/',
  'http://[fe80::1]/',
  'http://[febf::1]/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://224.0.0.1/',
])('asks nothing at %s', (url) => {
  expect(may(url)).toBe(false);
});

test.each([
  'https://api.openshift.com/graph',
  'http://10.0.0.7/graph',
  'http://192.168.1.1/graph',
  'http://[fd00::7]/graph',
  'http://169.253.1.1/',
  'http://update-service.openshift-update-service.svc:8080/graph',
])('asks at %s', (url) => {
  expect(may(url)).toBe(true);
});

test('an administrator may allow what policies may not name otherwise, with its port or with any', () => {
  expect(may('http://127.0.0.1:8080/', { allow: ['127.0.0.1'] })).toBe(true);
  expect(may('http://127.0.0.1:8080/', { allow: ['127.0.0.1:8080'] })).toBe(true);
  expect(may('http://127.0.0.1:8081/', { allow: ['127.0.0.1:8080'] })).toBe(false);
  expect(may('http://[::1]:8080/', { allow: ['[::1]'] })).toBe(true);
  expect(may('http://127.0.0.1:8080/', { updateGraphUrl: 'http://127.0.0.1:8080/x' })).toBe(true);
  expect(graphAccess({ allow: ['Graph.lab'] }).guard('127.0.0.1', 'graph.lab')).toBeUndefined();
  expect(graphAccess({ allow: ['other.lab'] }).guard('127.0.0.1', 'graph.lab')).toMatchObject({
    message: expect.stringContaining('--update-graph-allow graph.lab'),
  });
});

test('as the reference, loopback is asked; what is link-local never', () => {
  expect(may('http://127.0.0.1:8080/', { talmStrict: true })).toBe(true);
  expect(may('http://169.254.169.254/', { talmStrict: true })).toBe(false);
  expect(may('http://127.0.0.1:8080/', { talmStrict: true, tenancy: true })).toBe(false);
});

test('with tenancy only hosts of the list are asked: by default the public graph', () => {
  expect(may('https://api.openshift.com/graph', { tenancy: true })).toBe(true);
  expect(may('https://graph.example/', { tenancy: true })).toBe(false);
  expect(may('https://graph.example/', { tenancy: true, allow: ['graph.example'] })).toBe(true);
  expect(may('https://api.openshift.com/graph', { tenancy: true, allow: ['graph.example'] })).toBe(false);
  expect(graphAccess({ tenancy: true }).problem(new URL('http://redis:6379/'))).toMatchObject({
    code: 'FLOTILLA_UPDATE_GRAPH_NOT_ALLOWED',
    message: 'policies may name api.openshift.com, not redis:6379; --update-graph-allow of the hub says which',
  });
});
