import { expect, test } from 'vitest';
import { reasonOf } from './recommendation.ts';

test.each([
  ['ClusterVersionUpdating', 'ClusterVersionUpdating'],
  ['Alert:firing', 'Alert:firing'],
  ['AdminAck-ack-4.20-x', 'Other'],
  ['9Lives', 'Other'],
  ['Ends_with:', 'Other'],
  ['', 'Other'],
])('%j as a reason is %s', (name, want) => expect(reasonOf(name, 'Other')).toBe(want));
