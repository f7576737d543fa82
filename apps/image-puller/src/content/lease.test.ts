import { expect, test } from 'vitest';
import { chooseLease } from './lease.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const lease = (id: string, expire?: string): { id: string; labels: Record<string, string> } => ({
  id,
  labels: expire === undefined ? {} : { 'containerd.io/gc.expire': expire },
});

test.each([
  { name: 'no lease makes a new one', leases: [], want: { id: `flotilla-precache-${NOW}`, isNew: true, takesOver: [] } },
  {
    name: "others' leases are left alone",
    leases: [lease('3781-pull', '2026-01-09T00:00:00Z')],
    want: { id: `flotilla-precache-${NOW}`, isNew: true, takesOver: [] },
  },
  {
    name: 'one of a killed run is used while half of its life is left',
    leases: [lease('flotilla-precache-1', '2026-01-02T12:00:00Z')],
    want: { id: 'flotilla-precache-1', isNew: false, takesOver: [] },
  },
  {
    name: 'an older one is taken over by a new one',
    leases: [lease('flotilla-precache-1', '2026-01-02T11:59:59Z')],
    want: { id: `flotilla-precache-${NOW}`, isNew: true, takesOver: ['flotilla-precache-1'] },
  },
  {
    name: 'the one that lasts longest takes over the others of a run that was killed between them',
    leases: [lease('flotilla-precache-1', '2026-01-02T09:00:00Z'), lease('flotilla-precache-2', '2026-01-02T23:00:00Z')],
    want: { id: 'flotilla-precache-2', isNew: false, takesOver: ['flotilla-precache-1'] },
  },
  {
    name: 'one whose end is unknown is taken over',
    leases: [lease('flotilla-precache-1'), lease('flotilla-precache-2', 'soon')],
    want: { id: `flotilla-precache-${NOW}`, isNew: true, takesOver: ['flotilla-precache-1', 'flotilla-precache-2'] },
  },
])('$name', ({ leases, want }) => {
  expect(chooseLease(leases, NOW)).toEqual(want);
});
