import { expect, test } from 'vitest';
import { refuseQuery, retrievalFailed, type UpdateQuery, updateHeaders, updateUrl } from './query.ts';

const query: UpdateQuery = {
  service: 'https://graph.example/v1/graph',
  clusterId: '0b9a2a1e-7e4b-4d3c-9f6e-0123456789ab',
  architecture: 'amd64',
  channel: 'stable-4.20',
  version: '4.20.1',
};

test.each<{ given: Partial<UpdateQuery>; reason: string | undefined; message?: string }>([
  { given: {}, reason: undefined },
  { given: { service: '', channel: '' }, reason: 'NoUpstream', message: 'No updateService server has been set to retrieve updates.' },
  {
    given: { service: 'https://user:secret@', clusterId: '' },
    reason: 'InvalidURI',
    message: 'failed to parse update service URL: "https://" is not an http or https URL',
  },
  { given: { service: 'file:///etc/passwd' }, reason: 'InvalidURI' },
  {
    given: { clusterId: 'x', architecture: '' },
    reason: 'InvalidID',
    message: 'invalid cluster ID: "x" is not a UUID; set spec.clusterID',
  },
  { given: { architecture: '', version: '' }, reason: 'NoArchitecture', message: 'Architecture has not been configured.' },
  {
    given: { version: '', channel: '' },
    reason: 'NoCurrentVersion',
    message: 'The cluster version does not have a semantic version assigned and cannot calculate valid upgrades.',
  },
  { given: { channel: '', version: 'x' }, reason: 'NoChannel', message: 'The update channel has not been configured.' },
  {
    given: { version: 'x' },
    reason: 'InvalidCurrentVersion',
    message: 'The current cluster version is not a valid semantic version and cannot be used to calculate upgrades.',
  },
])('$given is refused as $reason', ({ given, reason, message }) => {
  const refusal = refuseQuery({ ...query, ...given });
  expect(refusal?.reason).toBe(reason);
  if (message !== undefined) expect(refusal?.message).toBe(message);
});

test('asks with everything that decides about updates, and keeps what the URL asks for itself', () => {
  const url = updateUrl({ ...query, service: `${query.service}?tenant=a`, channel: 'a b&c' });
  expect(url.origin + url.pathname).toBe('https://graph.example/v1/graph');
  expect(Object.fromEntries(url.searchParams)).toEqual({
    tenant: 'a',
    arch: 'amd64',
    channel: 'a b&c',
    id: query.clusterId,
    version: '4.20.1',
  });
  expect(updateHeaders('4.20.1')).toEqual({ accept: 'application/json', 'user-agent': 'ClusterVersionOperator/4.20.1' });
});

test('a failure says that it is about updates', () =>
  expect(retrievalFailed('ResponseFailed', 'unexpected HTTP status: 503 Service Unavailable')).toEqual({
    reason: 'ResponseFailed',
    message: 'Unable to retrieve available updates: unexpected HTTP status: 503 Service Unavailable',
  }));
