import { ManagedCluster } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { findDenial } from './cluster.ts';

const cluster = (spec: unknown, accepted?: { status: string; reason: string; message: string }) =>
  ManagedCluster.schema.parse({
    metadata: { name: 'a' },
    spec,
    ...(accepted && {
      status: { conditions: [{ type: 'HubAcceptedManagedCluster', lastTransitionTime: '2026-01-01T00:00:00Z', ...accepted }] },
    }),
  });

test('the message of a cluster that is not accepted has the fix', () => {
  expect(findDenial(cluster({ hubAcceptsClient: false }))).toMatchObject({
    cause: 'cluster-denied',
    says: 'cluster denied: hubAcceptsClient is false',
    fix: expect.stringContaining('flotilla join'),
  });
});

test('the message of a refused name is that of the refusal', () => {
  const refused = { status: 'False', reason: 'Error', message: 'metadata.name "default" cannot be: take another' };
  expect(findDenial(cluster({ hubAcceptsClient: true }, refused))).toMatchObject({
    cause: 'cluster-denied',
    says: `cluster denied: ${refused.message}`,
  });
});

test.each([
  { name: 'one that is accepted', given: cluster({ hubAcceptsClient: true }) },
  { name: 'one that nobody has said anything of', given: cluster(undefined) },
  { name: 'one that cannot be read', given: cluster({ hubAcceptsClient: 'no' }) },
  {
    name: 'one that was denied and is accepted again',
    given: cluster({ hubAcceptsClient: true }, { status: 'False', reason: 'HubClusterAdminDenied', message: 'denied' }),
  },
  { name: 'one that is gone', given: undefined },
])('$name is not denied', ({ given }) => expect(findDenial(given)).toBeUndefined());
