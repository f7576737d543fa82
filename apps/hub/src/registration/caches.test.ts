import { Lease } from '@flotilla/api/core';
import { expect, test } from 'vitest';
import { trimLease } from './caches.ts';

const AGENTS = '2026-01-01T00:00:00.000000Z';
const entry = (time: string, fields: object) => ({ manager: 'agent', operation: 'Update', time, fieldsType: 'FieldsV1', fieldsV1: fields });
const renewal = (time: string) => entry(time, { 'f:spec': { 'f:renewTime': {} } });
const renewTimeOf = (managedFields: unknown, renewTime: string | undefined = AGENTS) =>
  trimLease(Lease.schema.parse({ metadata: { name: 'managed-cluster-lease', namespace: 'a', managedFields }, spec: { renewTime } })).spec
    ?.renewTime;

test.each([
  {
    name: 'the time at which the server took it, to the end of the second',
    fields: [renewal('2026-01-01T00:05:00Z')],
    want: '2026-01-01T00:05:01.000Z',
  },
  {
    name: 'not the time at which somebody labelled it',
    fields: [renewal('2026-01-01T00:05:00Z'), entry('2026-01-01T00:09:00Z', { 'f:metadata': {} })],
    want: '2026-01-01T00:05:01.000Z',
  },
  { name: 'the agent’s own time where the server says nothing', fields: undefined, want: AGENTS },
  { name: 'the agent’s own time where it cannot be read', fields: 'x', want: AGENTS },
])('a lease was renewed at $name', ({ fields, want }) => expect(renewTimeOf(fields)).toBe(want));

test('a lease that was never renewed was not', () => {
  const lease = Lease.schema.parse({ metadata: { name: 'l', namespace: 'a', managedFields: [renewal('2026-01-01T00:05:00Z')] } });
  expect(trimLease(lease).spec?.renewTime).toBeUndefined();
});
